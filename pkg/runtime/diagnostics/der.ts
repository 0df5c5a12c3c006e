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

/** Encodes a value in DER: its tag, its length and its content. */
function encode(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

/**
 * Encodes a length in DER. A length below 128 is one byte. For a greater length, the first byte is 128 plus the number
 * of the bytes that follow.
 */
function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.of(0x80 | bytes.length), bytes]);
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => encode(TAGS.sequence, ...items);
export const set = (...items: readonly Uint8Array[]): Buffer => encode(TAGS.set, ...items);
/**
 * Encodes a positive integer in DER. `bytes` are its big-endian bytes; the first must be from 1 to 127, because a first
 * byte from 128 on would make the integer negative.
 */
export const integer = (bytes: Uint8Array): Buffer => encode(TAGS.integer, bytes);
export const isTrue = encode(TAGS.boolean, Buffer.of(0xff));
/** Encodes an object identifier in DER. `hex` is its content in hexadecimal digits. */
export const oid = (hex: string): Buffer => encode(TAGS.oid, Buffer.from(hex, 'hex'));
export const utf8String = (text: string): Buffer => encode(TAGS.utf8String, Buffer.from(text));
export const octetString = (content: Uint8Array): Buffer => encode(TAGS.octetString, content);
/** Encodes a bit string in DER. The last `unused` bits of `bytes` do not belong to the bit string. */
export const bitString = (bytes: Uint8Array, unused = 0): Buffer => encode(TAGS.bitString, Buffer.of(unused), bytes);
/** Encodes a value within the tag [number] (EXPLICIT tagging of ASN.1). */
export const explicit = (number: number, content: Uint8Array): Buffer => encode(0xa0 | number, content);
/** Encodes a string with the tag [number] instead of the tag of its type (IMPLICIT tagging of ASN.1). */
export const implicit = (number: number, content: Uint8Array): Buffer => encode(0x80 | number, content);

/**
 * Encodes a time of a certificate in DER, for example `2026-11-22T15:04:05Z`. RFC 5280 requires the type UTCTime, whose
 * year has two digits, until 2049, and GeneralizedTime after that.
 */
export function time(timestamp: string): Buffer {
  const digits = timestamp.replaceAll(/[-:T]/g, '');
  return timestamp < '2050'
    ? encode(TAGS.utcTime, Buffer.from(digits.slice(2)))
    : encode(TAGS.generalizedTime, Buffer.from(digits));
}
