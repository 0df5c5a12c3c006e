/**
 * Compares two resourceVersions of one kind, which are decimal numbers of any length and ordered since Kubernetes 1.35
 * (KEP-5504; earlier without a guarantee). Others, of an aggregated API server, have no order: the result is false.
 */
export function isOlder(a: string, b: string): boolean {
  if (!WELL_FORMED.test(a) || !WELL_FORMED.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

/** False if one of them has no order. */
export const isAtLeast = (a: string, b: string): boolean =>
  WELL_FORMED.test(a) && WELL_FORMED.test(b) && !isOlder(a, b);

const WELL_FORMED = /^[1-9][0-9]*$/;
