/** Tags of ASN.1 types in DER (ITU-T X.690). */
const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Encodes a value with its tag and its length. */
function encode(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

/** A length below 128 is one byte; otherwise the first byte is the number of the bytes that follow it. */
function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.of(0x80 | bytes.length), bytes]);
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => encode(TAGS.sequence, ...items);
export const set = (...items: readonly Uint8Array[]): Buffer => encode(TAGS.set, ...items);
/** A positive integer. `bytes`: its big-endian bytes; the first is from 1 to 127. */
export const integer = (bytes: Uint8Array): Buffer => encode(TAGS.integer, bytes);
export const isTrue = encode(TAGS.boolean, Buffer.of(0xff));
/** An object identifier. `hex`: its encoded content in hexadecimal digits. */
export const oid = (hex: string): Buffer => encode(TAGS.oid, Buffer.from(hex, 'hex'));
export const utf8String = (text: string): Buffer => encode(TAGS.utf8String, Buffer.from(text));
export const octetString = (content: Uint8Array): Buffer => encode(TAGS.octetString, content);
/** A bit string. The last `unused` bits of `bytes` do not belong to it. */
export const bitString = (bytes: Uint8Array, unused = 0): Buffer => encode(TAGS.bitString, Buffer.of(unused), bytes);
/** A value with the tag [number] around it (EXPLICIT). */
export const explicit = (number: number, content: Uint8Array): Buffer => encode(0xa0 | number, content);
/** A string that has the tag [number] instead of its own tag (IMPLICIT). */
export const implicit = (number: number, content: Uint8Array): Buffer => encode(0x80 | number, content);

/**
 * A time of a certificate. RFC 5280 asks for a UTCTime, whose year has two digits, until 2049. `timestamp`: as in
 * `2026-11-22T15:04:05Z`.
 */
export function time(timestamp: string): Buffer {
  const digits = timestamp.replaceAll(/[-:T]/g, '');
  return timestamp < '2050'
    ? encode(TAGS.utcTime, Buffer.from(digits.slice(2)))
    : encode(TAGS.generalizedTime, Buffer.from(digits));
}
