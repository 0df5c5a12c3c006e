import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import {
  type CertificateFiles,
  DEFAULT_MIN_TLS_VERSION,
  type ListenAddress,
  parseAddress,
  tlsSettings,
} from 'controller-runtime/http';

/**
 * The TLS flags have the same names as in Cluster API's managers. Cluster API has no flags for the certificate, so the
 * certificate flags have kubebuilder's names.
 */
export const DIAGNOSTICS_FLAGS = [
  {
    name: 'diagnostics-address',
    value: 'ADDRESS',
    default: ':8443',
    variable: 'CAPAF_DIAGNOSTICS_ADDRESS',
    help: 'Address of /metrics, /debug/flags/v, and /debug/pprof, served over HTTPS to authorized users; 0: not served',
  },
  {
    name: 'insecure-diagnostics',
    variable: 'CAPAF_INSECURE_DIAGNOSTICS',
    help: 'Serve only /metrics on --diagnostics-address, over plain HTTP and without authentication',
  },
  {
    name: 'metrics-cert-path',
    value: 'DIRECTORY',
    help: 'Directory of the certificate for --diagnostics-address, which the manager reloads when it changes. Default: a self-signed certificate',
  },
  { name: 'metrics-cert-name', value: 'FILE', default: 'tls.crt', help: 'Certificate file in --metrics-cert-path' },
  { name: 'metrics-cert-key', value: 'FILE', default: 'tls.key', help: 'Key file in --metrics-cert-path' },
  {
    name: 'tls-min-version',
    value: 'VERSION',
    default: DEFAULT_MIN_TLS_VERSION,
    help: 'Minimum TLS version of --diagnostics-address: VersionTLS10, VersionTLS11, VersionTLS12, or VersionTLS13',
  },
  {
    name: 'tls-cipher-suites',
    value: 'LIST',
    help: 'Cipher suites of --diagnostics-address for TLS 1.2 and older, as comma-separated Go names. Default: the cipher suites of Node.js',
  },
] as const;

type DiagnosticsFlag = (typeof DIAGNOSTICS_FLAGS)[number]['name'];

export interface Diagnostics {
  readonly address: ListenAddress;
  /** If undefined, the server uses plain HTTP without authentication. */
  readonly tls?: DiagnosticsTls;
}

interface DiagnosticsTls {
  /** If undefined, the server creates a self-signed certificate. */
  readonly files?: CertificateFiles;
  readonly settings: SecureContextOptions;
}

/** Returns `undefined` if diagnostics are not served. @throws Error with one sentence if a flag's value is wrong */
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
