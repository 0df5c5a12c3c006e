import type { Ms } from './clock.ts';

/** Formats a Kubernetes Time: RFC 3339 in UTC, in whole seconds. */
export function formatTimestamp(instant: Ms): string {
  return `${new Date(instant).toISOString().slice(0, 19)}Z`;
}

/** Returns ms since 1970; `undefined` if the text is not a date. */
export function parseTimestamp(text: string): Ms | undefined {
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

/** Formats a Kubernetes MicroTime: RFC 3339 in UTC with six decimals. */
export function formatMicroTime(instant: Ms): string {
  return `${new Date(instant).toISOString().slice(0, 23)}000Z`;
}

/** Formats RFC 3339 in UTC with milliseconds. */
export const formatMilliTime = (instant: Ms): string => new Date(instant).toISOString();

const MINUTE: Ms = 60_000;
const UNITS = { d: 24 * 60 * MINUTE, h: 60 * MINUTE, m: MINUTE };

/** Formats an age in the largest unit that it contains at least twice, such as `90s` or `36h`. */
export function formatAge(age: Ms): string {
  for (const [unit, length] of Object.entries(UNITS))
    if (age >= 2 * length) return `${Math.floor(age / length)}${unit}`;
  return `${Math.max(0, Math.floor(age / 1_000))}s`;
}
