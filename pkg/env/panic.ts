/**
 * Whether a thrown value betrays a mistake in the program rather than a failure of the world: what Go would panic on.
 *
 * The language's own error classes are thrown for mistakes only; the product throws classes of its own for what the world
 * does. A failed assertion is a mistake, and so is throwing what is no Error. Errors of the platform that only borrow a
 * class (`TypeError: fetch failed`) are wrapped by the transports that meet them, and a wrapper is judged, not its cause.
 */
export function isPanic(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return true;
  if (MISTAKES.some((mistake) => thrown instanceof mistake)) return true;
  return 'code' in thrown && thrown.code === 'ERR_ASSERTION';
}

const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError] as const;
