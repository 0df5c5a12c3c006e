import { formatMilliTime, formatTimestamp, type Ms } from 'controller-runtime/env';
import { isRecord } from 'controller-runtime/json';
import { RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';

// Time passes only between two passes, and always by twenty minutes. Only waits of 30 minutes and more in the product
// are longer. The model's clock stands still: when time passes, all recorded times move back instead. So a recorded
// time is either recent or long ago, and the number of the model's states is finite.

/** The time of every reconcile, in ms since 1970; the monotonic clock shows the same. */
export const NOW: Ms = 1_770_000_000_000;
const SPAN: Ms = 20 * 60_000;
export const LONG_AGO: Ms = NOW - SPAN;

const TIMES = new Set(['since', 'seenAt', 'until', 'requestedAt', 'activeSince', 'drainSince']);
/**
 * Creation times in AWS. The model adds some milliseconds to the time of the reconcile, so that their order is kept.
 */
const CREATIONS = new Set(['createdAt', 'last']);
const TIMESTAMPS = new Set(['createRequestedAt']);

/** Returns a memory, a status or the state of AWS as it is after twenty minutes. */
export function aged<A>(value: A): A {
  return agedField('', value) as A;
}

const agedTime = (name: string, time: Ms): Ms => {
  if (TIMES.has(name)) return Math.min(time, LONG_AGO);
  return CREATIONS.has(name) && time >= NOW ? time - SPAN : time;
};

function agedField(name: string, value: unknown): unknown {
  if (typeof value === 'number' && name === 'notBefore') return Math.min(value, LONG_AGO);
  if (name === 'clusterGoneSince') return LONG_AGO;
  if (typeof value === 'number') return agedTime(name, value);
  if (typeof value === 'string') return agedText(name, value);
  if (name === 'refused' && Array.isArray(value)) {
    const held = value.flatMap((each: unknown) =>
      isRecord(each) && Number(each['notBefore']) - SPAN > NOW
        ? [{ ...each, notBefore: Number(each['notBefore']) - SPAN }]
        : [],
    );
    return held.length === 0 ? undefined : held;
  }
  if (Array.isArray(value)) return value.map((each: unknown) => agedField('', each));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => {
      const after = agedField(key, each);
      return after === undefined ? [] : [[name === 'unanswered' ? agedKey(key) : key, after]];
    }),
  );
}

/** The key of an unanswered create request ends with the time of the request, which the record contains too. */
const agedKey = (key: string): string => key.replace(/\d+$/, (time) => String(agedTime('requestedAt', Number(time))));

/** Moves back the times in a text. The text is a timestamp, or a record, whose JSON contains times. */
function agedText(name: string, text: string): string {
  if (name === RECORD_ANNOTATION) return JSON.stringify(agedField('', JSON.parse(text)));
  if (!/^20\d\d-/.test(text)) return text;
  const isOfStatus = TIMESTAMPS.has(name) || (name === 'activeSince' && !text.includes('.'));
  const after = agedTime(isOfStatus ? 'activeSince' : name, Date.parse(text));
  return isOfStatus ? formatTimestamp(after) : formatMilliTime(after);
}

/** Caches the results of `compute`, so that the same argument always gives the same JavaScript object. */
export function once<A extends object, B>(compute: (value: A) => B): (value: A) => B {
  const known = new WeakMap<A, { readonly result: B }>();
  return (value) => {
    const found = known.get(value) ?? { result: compute(value) };
    known.set(value, found);
    return found.result;
  };
}
