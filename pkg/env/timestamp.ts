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

/** RFC 3339 in UTC with milliseconds, the precision with which EKS gives the time of a creation. */
export const formatMilliTime = (instant: Ms): string => new Date(instant).toISOString();
