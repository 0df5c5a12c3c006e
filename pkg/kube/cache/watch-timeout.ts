import type { Ms } from '../../env/clock.ts';
import type { Random } from '../../env/random.ts';

/**
 * The average timeoutSeconds of a watch: less than the five minutes after which many load balancers drop an idle
 * connection. The jitter makes some watches up to five seconds longer than that.
 */
const WATCH_TIMEOUT_SECONDS = 290;
/**
 * The fraction by which the timeout of a watch varies randomly, so that watches that were opened at the same time do
 * not end at the same time.
 */
const WATCH_TIMEOUT_JITTER = 0.05;
/**
 * How long after the timeout of a watch the reflector waits for the API server to close the watch. If the API server
 * has not closed the watch by then, its connection counts as dead.
 */
export const IDLE_MARGIN: Ms = 15_000;

/** Returns the timeoutSeconds of a new watch. */
export const watchTimeoutSeconds = (random: Random): number =>
  Math.round(WATCH_TIMEOUT_SECONDS * (1 + WATCH_TIMEOUT_JITTER * (2 * random.next() - 1)));
