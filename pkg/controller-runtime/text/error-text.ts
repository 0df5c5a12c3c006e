import { MAX_FACT, cut } from './cut.ts';
import { redactCredentials } from './redact.ts';

const DEEPEST_CAUSE = 16;

function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [error];
  for (let next = causeOf(error); next !== undefined && next !== null && chain.length < DEEPEST_CAUSE;) {
    if (chain.includes(next)) break;
    chain.push(next);
    next = causeOf(next);
  }
  return chain;
}

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map((inner) => errorMessage(inner)).join('; ');
  if (error instanceof Error) return error.message === '' ? error.name : error.message;
  if (typeof error === 'string') return error;
  return error === undefined ? 'undefined' : toJson(error);
}

/**
 * Joins the messages of an error and its causes: `patching status: PATCH …: connect ECONNREFUSED`. Omits a message that
 * the text already contains. Masks credentials. The result has at most {@link MAX_FACT} UTF-16 code units.
 */
export function errorMessage(error: unknown): string {
  return chainOf(error)
    .map((link) => redactCredentials(messageOf(link), MAX_FACT))
    .reduce((text, next) => (text === '' ? next : text.includes(next) ? text : cut(`${text}: ${next}`, MAX_FACT)), '');
}

/** Returns the code of a Node.js error, e.g. `ENOENT`, or the text of any other error. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : errorMessage(error);

/** Masks credentials. Returns `undefined` if neither the error nor a cause has a stack. */
export function errorStack(error: unknown): string | undefined {
  const stacks = chainOf(error).flatMap((link) =>
    link instanceof Error && link.stack !== undefined ? [redactCredentials(link.stack)] : [],
  );
  return stacks.length === 0 ? undefined : stacks.join('\nCaused by: ');
}

/** Never throws. A value without a JSON form (a circular reference, function, or throwing getter) becomes a string. */
export function toJson(value: unknown): string {
  const above: unknown[] = [];
  const replace = function (this: unknown, _key: string, inner: unknown): unknown {
    if (typeof inner === 'bigint') return String(inner);
    if (inner instanceof Error) return inner.message;
    if (typeof inner !== 'object' || inner === null) return inner;
    // `above` holds the objects that contain `inner`. JSON.stringify sets `this` to the one that directly contains it.
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(inner)) return '[circular]';
    above.push(inner);
    return inner;
  };
  try {
    // JSON.stringify returns undefined for a function or a symbol, although its TypeScript type says string.
    const json: unknown = JSON.stringify(value, replace);
    return typeof json === 'string' ? json : JSON.stringify(typeof value);
  } catch (error) {
    return JSON.stringify(`[not JSON: ${error instanceof Error ? error.message : 'unreadable'}]`);
  }
}

/** Returns a text unchanged, and any other value as JSON. `String` throws if a JSON object has a field `toString`. */
export const toText = (value: unknown): string => (typeof value === 'string' ? value : toJson(value));
