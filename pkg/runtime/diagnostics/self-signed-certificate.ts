import { generateKeyPairSync, sign } from 'node:crypto';
import { isIP } from 'node:net';
import type { Ms } from '../../env/clock.ts';
import { formatTimestamp } from '../../env/timestamp.ts';
import type { Random } from '../../env/random.ts';
import * as der from './der.ts';

const DAY: Ms = 24 * 3_600_000;
/** How long a self-signed certificate is valid, as in client-go's cert package. */
export const VALID_FOR: Ms = 365 * DAY;
/** A self-signed certificate is replaced this long before it expires. */
export const RENEW_BEFORE: Ms = 30 * DAY;
/**
 * The validity of a self-signed certificate begins this long before its creation, because the clocks of clients differ.
 */
export const CLOCK_SKEW: Ms = 3_600_000;

/** The content of the PEM files of a TLS server. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** The DNS names and IP addresses of the server. */
  readonly hosts: readonly string[];
  readonly notBefore: Ms;
  readonly notAfter: Ms;
}

/** The object identifiers in a certificate, each as the hexadecimal digits of its DER content. */
const OIDS = {
  ecdsaWithSha256: '2a8648ce3d040302',
  commonName: '550403',
  keyUsage: '551d0f',
  subjectAltName: '551d11',
  basicConstraints: '551d13',
  extendedKeyUsage: '551d25',
  serverAuth: '2b06010505070301',
} as const;

/** In a certificate, X.509 version 3 has the number 2. */
const VERSION_3 = der.explicit(0, der.integer(Buffer.of(2)));
const SIGNATURE_ALGORITHM = der.sequence(der.oid(OIDS.ecdsaWithSha256));
/** The bit 0 of the key usage: digitalSignature. */
const DIGITAL_SIGNATURE = der.bitString(Buffer.of(0x80), 7);
/** Tags of a GeneralName (RFC 5280, 4.2.1.6). */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Returns the DNS names and IP addresses in the self-signed certificate of a pod with this host name. */
export const selfSignedHosts = (hostname: string): readonly string[] => [
  ...new Set([hostname, 'localhost', '127.0.0.1', '::1']),
];

/**
 * Creates a P-256 key and a self-signed certificate of a TLS server. Node.js has no function that builds a certificate,
 * and the libraries for it would be a quarter of the manager's bundle. So this code encodes the certificate itself;
 * OpenSSL makes the key and the signature.
 */
export function selfSignedCertificate(request: CertificateRequest, random: Random): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = nameOf(request.commonName);
  const content = der.sequence(
    VERSION_3,
    der.integer(newSerial(random)),
    SIGNATURE_ALGORITHM,
    name,
    der.sequence(der.time(formatTimestamp(request.notBefore)), der.time(formatTimestamp(request.notAfter))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, extensions(request.hosts)),
  );
  const signature = der.bitString(sign('sha256', content, privateKey));
  return {
    cert: toPem(der.sequence(content, SIGNATURE_ALGORITHM, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const nameOf = (commonName: string): Buffer =>
  der.sequence(der.set(der.sequence(der.oid(OIDS.commonName), der.utf8String(commonName))));

/**
 * Returns a serial number of 16 bytes. Its first byte is from 64 to 127, so that the number is positive and has no
 * leading 0.
 */
function newSerial(random: Random): Buffer {
  const bytes = Buffer.from(random.uuid().replaceAll('-', ''), 'hex');
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f);
  return bytes;
}

const extensions = (hosts: readonly string[]): Buffer =>
  der.sequence(
    critical(OIDS.basicConstraints, der.sequence()),
    critical(OIDS.keyUsage, DIGITAL_SIGNATURE),
    extension(OIDS.extendedKeyUsage, der.sequence(der.oid(OIDS.serverAuth))),
    extension(OIDS.subjectAltName, der.sequence(...hosts.map(generalName))),
  );

const extension = (id: string, value: Buffer): Buffer => der.sequence(der.oid(id), der.octetString(value));
const critical = (id: string, value: Buffer): Buffer => der.sequence(der.oid(id), der.isTrue, der.octetString(value));

function generalName(host: string): Buffer {
  switch (isIP(host)) {
    case 4:
      return der.implicit(IP_ADDRESS, Buffer.from(host.split('.').map(Number)));
    case 6:
      return der.implicit(IP_ADDRESS, ipv6Bytes(host));
    default:
      return der.implicit(DNS_NAME, Buffer.from(host));
  }
}

/** Returns the 16 bytes of an IPv6 address. The address must not have the form with an embedded IPv4 address. */
function ipv6Bytes(address: string): Buffer {
  const [head = [], tail] = address.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const missing = tail === undefined ? 0 : 8 - head.length - tail.length;
  const groups = [...head, ...Array<string>(missing).fill('0'), ...(tail ?? [])];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

const toPem = (bytes: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
