import type { Ms } from './clock.ts';

/** Formats a time like the type Time of Kubernetes: RFC 3339 in UTC, in whole seconds. */
export function formatTimestamp(instant: Ms): string {
  return `${new Date(instant).toISOString().slice(0, 19)}Z`;
}

/** Parses a date to ms since 1970. Returns `undefined` for a text that is no date. */
export function parseTimestamp(text: string): Ms | undefined {
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

/** Formats a time like the type MicroTime of Kubernetes: RFC 3339 in UTC with six decimals. */
export function formatMicroTime(instant: Ms): string {
  return `${new Date(instant).toISOString().slice(0, 23)}000Z`;
}
