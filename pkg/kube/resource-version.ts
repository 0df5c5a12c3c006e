/**
 * Whether `a` is older than `b`, for two versions of one kind. To clients resourceVersion used to be opaque; its
 * order is promised since Kubernetes 1.35 (KEP-5504), and held before. Compared as apimachinery's
 * pkg/util/resourceversion does: as a decimal number of any length. Anything else (an aggregated API server of another make) cannot be
 * ordered, and nothing is then older than anything.
 */
export function isOlder(a: string, b: string): boolean {
  if (!WELL_FORMED.test(a) || !WELL_FORMED.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

const WELL_FORMED = /^[1-9][0-9]*$/;
