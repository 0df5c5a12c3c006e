import type { Ms } from './clock.ts';

/** An instant as Kubernetes writes it: RFC 3339 in UTC, to the second. */
export function formatTimestamp(instant: Ms): string {
  return `${new Date(instant).toISOString().slice(0, 19)}Z`;
}

/** `undefined` for text that is no date. */
export function parseTimestamp(text: string): Ms | undefined {
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

/** An instant as Kubernetes writes a MicroTime: RFC 3339 in UTC with six decimals. */
export function formatMicroTime(instant: Ms): string {
  return `${new Date(instant).toISOString().slice(0, 23)}000Z`;
}
