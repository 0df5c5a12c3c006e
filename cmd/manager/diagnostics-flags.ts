import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { SecureContextOptions, SecureVersion } from 'node:tls';
import type { CertificateFiles } from '../../pkg/runtime/diagnostics/serving-certificate.ts';
import type { ListenAddress } from '../../pkg/runtime/http/address.ts';
import { parseAddress } from '../../pkg/runtime/http/address.ts';

/**
 * The flags of the server for diagnostics. The TLS flags have the names that Cluster API's managers use. Cluster API's
 * managers have no flags for the certificate, so the flags for the certificate have the names that kubebuilder uses.
 */
export const DIAGNOSTICS_FLAGS = [
  {
    name: 'diagnostics-address',
    value: 'ADDRESS',
    default: ':8443',
    help: 'Address of /metrics, /debug/flags/v and /debug/pprof, in HTTPS and for users with permission; 0: not served',
  },
  {
    name: 'insecure-diagnostics',
    help: 'Serve --diagnostics-address in plain HTTP, without authentication, and only /metrics',
  },
  {
    name: 'metrics-cert-path',
    value: 'DIRECTORY',
    help: 'Directory with the certificate for --diagnostics-address, which is read again when it changes. Default: a self-signed certificate',
  },
  { name: 'metrics-cert-name', value: 'FILE', default: 'tls.crt', help: 'Certificate file in --metrics-cert-path' },
  { name: 'metrics-cert-key', value: 'FILE', default: 'tls.key', help: 'Key file in --metrics-cert-path' },
  {
    name: 'tls-min-version',
    value: 'VERSION',
    default: 'VersionTLS12',
    help: 'Minimum TLS version of --diagnostics-address: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13',
  },
  {
    name: 'tls-cipher-suites',
    value: 'LIST',
    help: 'Cipher suites of --diagnostics-address for TLS 1.2 and older, by their names in Go, separated by commas. Default: those of Node.js',
  },
] as const;

type DiagnosticsFlag = (typeof DIAGNOSTICS_FLAGS)[number]['name'];

/** How the manager serves its diagnostics: metrics, log verbosity and profiles. */
export interface Diagnostics {
  readonly address: ListenAddress;
  /** The TLS settings of the server; undefined: plain HTTP without authentication. */
  readonly tls?: DiagnosticsTls;
}

export interface DiagnosticsTls {
  /** The files of the server's certificate and key; undefined: the server makes a self-signed certificate. */
  readonly files?: CertificateFiles;
  readonly settings: SecureContextOptions;
}

const VERSIONS: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** The cipher suites of TLS 1.3, which are always allowed, as in Go. */
const TLS_13_SUITES = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'];
/**
 * Maps Go's names of TLS cipher suites to the names in OpenSSL. Go's suites with RC4 and 3DES are absent, because
 * OpenSSL's default build lacks them.
 */
export const SUITES: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
};

/**
 * Parses the flags of the diagnostics server. Returns undefined if the flags disable the server. Throws an error with
 * one sentence about a wrong flag.
 */
export function parseDiagnostics(
  text: (name: DiagnosticsFlag) => string,
  isSet: (name: DiagnosticsFlag) => boolean,
): Diagnostics | undefined {
  const address = parseAddress('diagnostics-address', text('diagnostics-address'));
  const settings = tlsSettings(text('tls-min-version'), text('tls-cipher-suites'));
  if (address === undefined) return undefined;
  if (isSet('insecure-diagnostics')) return { address };
  const directory = text('metrics-cert-path');
  const file = (name: DiagnosticsFlag): string => join(directory, text(name));
  const files = { cert: file('metrics-cert-name'), key: file('metrics-cert-key') };
  return { address, tls: { settings, ...(directory !== '' && { files }) } };
}

function tlsSettings(version: string, suites: string): SecureContextOptions {
  const minVersion = VERSIONS[version];
  if (minVersion === undefined)
    throw new Error(`--tls-min-version: "${version}" is not a version; use one of ${Object.keys(VERSIONS).join(', ')}`);
  if (suites === '') return { minVersion };
  const named = suites.split(',').map((suite) => suite.trim());
  const ciphers = named.flatMap((suite) => {
    const known = TLS_13_SUITES.includes(suite) ? suite : SUITES[suite];
    if (known === undefined)
      throw new Error(`--tls-cipher-suites: "${suite}" is not a cipher suite that OpenSSL has under a name of Go`);
    return known;
  });
  const settings = { minVersion, ciphers: [...new Set([...TLS_13_SUITES, ...ciphers])].join(':') };
  createSecureContext(settings);
  return settings;
}
