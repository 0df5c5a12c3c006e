import { isRecord } from '../../api/record.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { formatTimestamp } from '../../pkg/env/timestamp.ts';

// Time passes only between two passes, and always by one span that is longer than every wait of the product but those of
// 30 minutes and more. The clock of the model stands still: when time passes, all recorded times move back instead. So
// there are two times in the past, and the states of the model are finitely many.

/** The time of every pass, in ms since 1970; the monotonic clock shows the same. */
export const NOW: Ms = 1_770_000_000_000;
const SPAN: Ms = 20 * 60_000;
export const LONG_AGO: Ms = NOW - SPAN;
const LONG_AGO_TEXT = formatTimestamp(LONG_AGO);

const TIMES = new Set(['since', 'seenAt', 'until']);
const TIMESTAMPS = new Set(['createRequestedAt', 'confirmedCreate', 'asked', 'time']);

/** A memory, a status or an object after the time has passed. */
export function aged<A>(value: A): A {
  return agedField('', value) as A;
}

function agedField(name: string, value: unknown): unknown {
  if (typeof value === 'number' && TIMES.has(name)) return Math.min(value, LONG_AGO);
  if (typeof value === 'string' && TIMESTAMPS.has(name) && value.startsWith('20')) return LONG_AGO_TEXT;
  if (name === 'refused' && Array.isArray(value)) {
    const held = value.flatMap((each: unknown) =>
      isRecord(each) && Number(each['notBefore']) - SPAN > NOW
        ? [{ ...each, notBefore: Number(each['notBefore']) - SPAN }]
        : [],
    );
    return held.length === 0 ? undefined : held;
  }
  if (typeof value === 'number' && name === 'notBefore') return Math.min(value, LONG_AGO);
  if (Array.isArray(value)) return value.map((each: unknown) => agedField('', each));
  if (!isRecord(value)) return value;
  if (name === 'clusterGone') return Object.fromEntries(Object.keys(value).map((key) => [key, LONG_AGO]));
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => {
      const after = agedField(key, each);
      return after === undefined ? [] : [[key, after]];
    }),
  );
}

/** The same object has the same result, which is one JavaScript object. */
export function once<A extends object, B>(compute: (value: A) => B): (value: A) => B {
  const known = new WeakMap<A, { readonly result: B }>();
  return (value) => {
    const found = known.get(value) ?? { result: compute(value) };
    known.set(value, found);
    return found.result;
  };
}
