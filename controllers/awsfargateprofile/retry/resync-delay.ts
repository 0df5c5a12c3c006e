import type { Clock, Ms } from '../../../pkg/env/clock.ts';

/** The interval of the common times at which resyncs begin, as a share of the resync interval, and its upper bound. */
const BATCH_SHARE = 0.05;
const MAX_BATCH_INTERVAL: Ms = 5_000;

/**
 * Returns the delay until a resync that may begin in `delay` ms. The result is up to some seconds shorter, because
 * resyncs begin only at common times: the processor has the code of the first resync still in its caches when it runs
 * the others, so each of ten resyncs that begin together takes half the processor time of a single one.
 */
export function resyncDelay(clock: Clock, delay: Ms, resync: Ms): Ms {
  const interval = Math.min(BATCH_SHARE * resync, MAX_BATCH_INTERVAL);
  const now = clock.monotonic();
  return Math.max(0, Math.floor((now + delay) / interval) * interval - now);
}
