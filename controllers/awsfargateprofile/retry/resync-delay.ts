import type { Clock, Ms } from '../../../pkg/env/clock.ts';

/**
 * Resyncs (periodic comparisons with AWS) begin only at multiples of a common interval. This constant is the common
 * interval as a share of the resync interval.
 */
const BATCH_SHARE = 0.05;
/** The upper bound of the common interval of resyncs. */
const MAX_BATCH_INTERVAL: Ms = 5_000;

/**
 * Returns the delay until a resync that may begin in `delay` ms. The result is up to some seconds shorter, because
 * resyncs begin only at common times. Each of ten resyncs that begin together takes half the processor time of a single
 * one, because the processor already has the code in its caches.
 */
export function resyncDelay(clock: Clock, delay: Ms, resync: Ms): Ms {
  const interval = Math.min(BATCH_SHARE * resync, MAX_BATCH_INTERVAL);
  const now = clock.monotonic();
  return Math.max(0, Math.floor((now + delay) / interval) * interval - now);
}
