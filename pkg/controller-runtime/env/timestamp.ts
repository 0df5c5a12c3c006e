import type { Ms } from './clock.ts';

/** As the type Time of Kubernetes: RFC 3339 in UTC, in whole seconds. */
export function formatTimestamp(instant: Ms): string {
  return `${new Date(instant).toISOString().slice(0, 19)}Z`;
}

/** In ms since 1970; `undefined` for a text that is no date. */
export function parseTimestamp(text: string): Ms | undefined {
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}

/** As the type MicroTime of Kubernetes: RFC 3339 in UTC with six decimals. */
export function formatMicroTime(instant: Ms): string {
  return `${new Date(instant).toISOString().slice(0, 23)}000Z`;
}

/** RFC 3339 in UTC with milliseconds. */
export const formatMilliTime = (instant: Ms): string => new Date(instant).toISOString();

const MINUTE: Ms = 60_000;
const UNITS = { d: 24 * 60 * MINUTE, h: 60 * MINUTE, m: MINUTE };

/** In the largest unit of which there are two, such as `90s` or `36h`. */
export function formatAge(age: Ms): string {
  for (const [unit, length] of Object.entries(UNITS))
    if (age >= 2 * length) return `${Math.floor(age / length)}${unit}`;
  return `${Math.max(0, Math.floor(age / 1_000))}s`;
}
