import { createSecureContext, type SecureContextOptions, type SecureVersion } from 'node:tls';

export const DEFAULT_MIN_TLS_VERSION = 'VersionTLS12';

const VERSIONS: ReadonlyMap<string, SecureVersion> = new Map([
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
]);

/** These cipher suites are always allowed, as in Go. */
const TLS_13_SUITES = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'];
/**
 * OpenSSL's name of each cipher suite, by Go's name. Suites with RC4 and 3DES are absent, because OpenSSL's default
 * build lacks them.
 */
export const SUITES: ReadonlyMap<string, string> = new Map([
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', 'ECDHE-ECDSA-AES128-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', 'ECDHE-ECDSA-AES256-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA256', 'AES128-SHA256'],
  ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
  ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
]);

/**
 * Returns the settings for the values of --tls-min-version and --tls-cipher-suites. Throws an error with one sentence
 * about an invalid value.
 */
export function tlsSettings(version: string, suites: string): SecureContextOptions {
  const minVersion = VERSIONS.get(version);
  if (minVersion === undefined)
    throw new Error(`--tls-min-version: "${version}" is not a version; use one of ${[...VERSIONS.keys()].join(', ')}`);
  if (suites === '') return { minVersion };
  const named = suites.split(',').map((suite) => suite.trim());
  const ciphers = named.flatMap((suite) => {
    const known = TLS_13_SUITES.includes(suite) ? suite : SUITES.get(suite);
    if (known === undefined)
      throw new Error(`--tls-cipher-suites: "${suite}" is not a cipher suite that OpenSSL has under a name of Go`);
    return known;
  });
  const settings = { minVersion, ciphers: [...new Set([...TLS_13_SUITES, ...ciphers])].join(':') };
  createSecureContext(settings);
  return settings;
}
