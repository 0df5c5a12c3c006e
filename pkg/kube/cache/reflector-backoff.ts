import type { Ms } from '../../env/clock.ts';
import type { Random } from '../../env/random.ts';
import { KubeError } from '../errors.ts';

/**
 * The longest delay after the reflector's first failed operation. It doubles with each further failure, up to
 * MAX_BACKOFF. Both values, 0.8 s and 30 s, are client-go's.
 */
const FIRST_BACKOFF: Ms = 800;
const MAX_BACKOFF: Ms = 30_000;
/** How long a watch must run without a failure to reset the backoff: two minutes, as in client-go's reflector. */
export const HEALTHY_AFTER: Ms = 120_000;
/**
 * A watch that the API server closes within this time and without an event counts as failed: one second, as in
 * client-go.
 */
export const SHORTEST_SILENT_WATCH: Ms = 1_000;
/** The longest time that the reflector waits because of a Retry-After. A longer Retry-After counts as this time. */
const LONGEST_RETRY_AFTER: Ms = 60_000;

/** Returns the delay after `attempts` failed operations in a row. */
export function backoffDelay(attempts: number, random: Random): Ms {
  const ceiling = Math.min(FIRST_BACKOFF * 2 ** (attempts - 1), MAX_BACKOFF);
  // The delay is random between half of its maximum and its maximum. So managers that lost the same API server do not
  // reconnect at the same time.
  return ceiling * (0.5 + 0.5 * random.next());
}

/** Returns the delay before the next operation: the longer of the backoff and the Retry-After of the API server. */
export const delayAfter = (
  { failures, error }: { readonly failures: number; readonly error: unknown },
  random: Random,
): Ms => Math.max(backoffDelay(failures, random), retryAfterOf(error));

/** The Retry-After of a failed request in ms, at most {@link LONGEST_RETRY_AFTER}; 0 when the response has none. */
const retryAfterOf = (error: unknown): Ms =>
  error instanceof KubeError ? Math.min(error.retryAfter ?? 0, LONGEST_RETRY_AFTER) : 0;
