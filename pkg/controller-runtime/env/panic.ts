/**
 * Reports whether an error shows a bug, for which Go would panic, and not a failure of the environment (network, API
 * server). Node.js reports some such failures with a class in BUG_CLASSES (`TypeError: fetch failed`): the code that
 * calls a server wraps them in another error, and this function checks only the outer error.
 */
export function isPanic(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return true;
  if (BUG_CLASSES.some((bugClass) => thrown instanceof bugClass)) return true;
  return 'code' in thrown && thrown.code === 'ERR_ASSERTION';
}

const BUG_CLASSES = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError] as const;
