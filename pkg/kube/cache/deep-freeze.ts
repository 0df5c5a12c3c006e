/**
 * Freezes a JSON value with all values in it, and returns it. Objects that are frozen already are skipped. The code
 * uses a loop and no recursion: the API server accepts fields that are nested more deeply than the stack allows a
 * recursion.
 */
export function deepFreeze<A>(value: A): A {
  const unvisited: unknown[] = [value];
  while (unvisited.length > 0) {
    const next = unvisited.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const inner of Object.values(next)) if (typeof inner === 'object') unvisited.push(inner);
  }
  return value;
}
