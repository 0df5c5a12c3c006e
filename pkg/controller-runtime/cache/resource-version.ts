/**
 * Reports whether resourceVersion `a` of a kind is older than `b`. Kubernetes guarantees since version 1.35 (KEP-5504)
 * that resourceVersions are ordered decimal numbers, of any length. The resourceVersions of an aggregated API server
 * may have no order: the result is then false.
 */
export function isOlder(a: string, b: string): boolean {
  if (!WELL_FORMED.test(a) || !WELL_FORMED.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

/** The opposite of {@link isOlder}, but also false if either resourceVersion has no order. */
export const isAtLeast = (a: string, b: string): boolean =>
  WELL_FORMED.test(a) && WELL_FORMED.test(b) && !isOlder(a, b);

const WELL_FORMED = /^[1-9][0-9]*$/;
