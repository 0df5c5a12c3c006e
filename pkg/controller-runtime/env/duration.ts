import type { Ms } from './clock.ts';

const UNITS: ReadonlyMap<string, Ms> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
]);
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h)/gy;

/**
 * Parses Go's format (`10m`, `1h30m`, `500ms`) without a sign, and only with the units `h`, `m`, `s`, and `ms`. Returns
 * `undefined` for any other text.
 */
export function parseDuration(text: string): Ms | undefined {
  let span = 0;
  let end = 0;
  for (const [part, amount, unit] of text.matchAll(PART)) {
    span += Number(amount) * (UNITS.get(unit ?? '') ?? 0);
    end += part.length;
  }
  return end > 0 && end === text.length ? span : undefined;
}
