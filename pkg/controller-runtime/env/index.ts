/** Time and randomness, which are injected everywhere, and time formats. */
export type { Ms, Timer, Clock } from './clock.ts';
export type { Random } from './random.ts';
export { systemClock, systemRandom } from './system.ts';
export { parseDuration } from './duration.ts';
export { formatTimestamp, parseTimestamp, formatMicroTime, formatMilliTime, formatAge } from './timestamp.ts';
export { isPanic } from './panic.ts';
