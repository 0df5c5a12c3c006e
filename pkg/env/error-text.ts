import { toJson } from './to-json.ts';

/** Causes deeper than this are cut: a chain may be a circle. */
const DEEPEST_CAUSE = 16;

/** The error and its causes, outermost first. */
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
 * One line for an error with all its causes, outermost first: `patching status: PATCH …: connect ECONNREFUSED`. A cause
 * that its wrapper already quotes is not said twice.
 */
export function errorMessage(error: unknown): string {
  return chainOf(error)
    .map(messageOf)
    .reduce((said, next) => (said === '' ? next : said.includes(next) ? said : `${said}: ${next}`), '');
}

/** The stacks of an error and its causes; `undefined` when there is none. */
export function errorStack(error: unknown): string | undefined {
  const stacks = chainOf(error).flatMap((link) =>
    link instanceof Error && link.stack !== undefined ? [link.stack] : [],
  );
  return stacks.length === 0 ? undefined : stacks.join('\nCaused by: ');
}
