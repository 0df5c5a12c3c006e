/**
 * Whether `a` is older than `b`, for two resourceVersions of one kind. Since 1.35 Kubernetes guarantees that they are
 * ordered (KEP-5504); earlier versions ordered them without a guarantee. Compares decimal numbers of any length, as
 * apimachinery's pkg/util/resourceversion does. resourceVersions of another form (of an aggregated API server) have no
 * order: the result is false.
 */
export function isOlder(a: string, b: string): boolean {
  if (!WELL_FORMED.test(a) || !WELL_FORMED.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

/** Whether `a` is certainly not older than `b`. False if one of them has a form that has no order. */
export const isAtLeast = (a: string, b: string): boolean =>
  WELL_FORMED.test(a) && WELL_FORMED.test(b) && !isOlder(a, b);

const WELL_FORMED = /^[1-9][0-9]*$/;
