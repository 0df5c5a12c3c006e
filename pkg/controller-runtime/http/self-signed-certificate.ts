import { generateKeyPairSync, sign } from 'node:crypto';
import type { Ms } from '../env/clock.ts';
import { formatTimestamp } from '../env/timestamp.ts';
import type { Random } from '../env/random.ts';

const DAY: Ms = 24 * 3_600_000;
/** Longer than any process runs. This does no harm, because clients cannot verify a self-signed certificate anyway. */
export const VALID_FOR: Ms = 10 * 365 * DAY;
/** The certificate is valid from this long before its creation, because the clocks of clients differ. */
export const CLOCK_SKEW: Ms = 3_600_000;

/** The content of PEM files. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRequest {
  /** The server's hostname. The certificate is also valid for localhost and the loopback addresses. */
  readonly hostname: string;
  readonly notBefore: Ms;
  readonly notAfter: Ms;
}

/** Encodes an ASN.1 value in DER (ITU-T X.690). The content must be shorter than 64 KiB. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...head), content]);
}

const hex = (digits: string): Buffer => Buffer.from(digits.replaceAll(' ', ''), 'hex');
const sequence = (...items: readonly Uint8Array[]): Buffer => der(0x30, ...items);
const bitString = (bytes: Uint8Array): Buffer => der(0x03, Buffer.of(0), bytes);

/** In DER. In a certificate, X.509 version 3 has the number 2. */
const VERSION_3 = hex('a0 03 02 01 02');
const ECDSA_WITH_SHA256 = hex('30 0a 06 08 2a8648ce3d040302');
const COMMON_NAME = hex('06 03 550403');
const NO_AUTHORITY = hex('30 0c 06 03 551d13 01 01 ff 04 02 3000'); // basicConstraints, critical
const DIGITAL_SIGNATURE = hex('30 0e 06 03 551d0f 01 01 ff 04 04 03020780'); // keyUsage, critical
const SERVER_AUTH = hex('30 13 06 03 551d25 04 0c 300a 06 08 2b06010505070301'); // extendedKeyUsage
const SUBJECT_ALT_NAME = hex('06 03 551d11');
/** 127.0.0.1 and ::1 as a GeneralName (RFC 5280, 4.2.1.6). */
const LOOPBACK = hex('87 04 7f000001 87 10 00000000000000000000000000000001');

/**
 * Creates a P-256 key and a self-signed TLS server certificate. The certificate is encoded here, because Node.js has no
 * function for that. OpenSSL creates the key and the signature.
 */
export function selfSignedCertificate({ hostname, notBefore, notAfter }: CertificateRequest, random: Random): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(hostname)))));
  const names = [...new Set([hostname, 'localhost'])].map((each) => der(0x82, Buffer.from(each)));
  const altNames = sequence(SUBJECT_ALT_NAME, der(0x04, sequence(...names, LOOPBACK)));
  const content = sequence(
    VERSION_3,
    serialNumber(random),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(notBefore), time(notAfter)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(NO_AUTHORITY, DIGITAL_SIGNATURE, SERVER_AUTH, altNames)),
  );
  const certificate = sequence(content, ECDSA_WITH_SHA256, bitString(sign('sha256', content, privateKey)));
  const lines = certificate.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** The number has 16 bytes. The first byte is between 64 and 127, so the number is positive and has no leading 0. */
function serialNumber(random: Random): Buffer {
  const bytes = hex(random.uuid().replaceAll('-', ''));
  bytes[0] = 0x40 | ((bytes[0] ?? 0) & 0x3f);
  return der(0x02, bytes);
}

/** RFC 5280 requires UTCTime, with a two-digit year, until 2049, and GeneralizedTime after that. */
function time(at: Ms): Buffer {
  const digits = formatTimestamp(at).replaceAll(/[-:T]/g, '');
  return digits < '2050' ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}
