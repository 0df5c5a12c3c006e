/**
 * Whether a thrown value shows a bug in the program, for which Go would panic, and not a failure of its environment
 * (network, API server, AWS).
 *
 * A bug is an error of a class in BUG_CLASSES, a failed assertion, or a thrown value that is no Error. The manager has
 * error classes of its own for failures of the environment. Node.js reports some of those failures with a class in
 * BUG_CLASSES (`TypeError: fetch failed`). The code that calls the API server or AWS wraps such an error in another
 * error; this function looks at the outer error, not at its cause.
 */
export function isPanic(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return true;
  if (BUG_CLASSES.some((bugClass) => thrown instanceof bugClass)) return true;
  return 'code' in thrown && thrown.code === 'ERR_ASSERTION';
}

const BUG_CLASSES = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError] as const;
