import { isRecord } from '../model/input.ts';
import { Instant } from '../model/time.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => entities[char] ?? char);
}

/** Encodes a value as an XML element of an IAM or STS answer. The items of a list become `member` elements. */
export function toXml(name: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  return `<${name}>${content(value)}</${name}>`;
}

function content(value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => toXml('member', item)).join('');
  // IAM and STS write times without fractions of a second.
  if (value instanceof Instant) return new Date(value.ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
  if (isRecord(value)) {
    return Object.entries(value)
      .map(([key, member]) => toXml(key, member))
      .join('');
  }
  return escapeXml(String(value));
}
