import type { Ms } from '../../env/clock.ts';
import type { Random } from '../../env/random.ts';
import { KubeError } from '../errors.ts';
import { REQUEST_DEADLINE } from '../requests/api-requests.ts';
import type { BackingOff, ReflectorInput, ReflectorState } from './reflector-state.ts';

/** The backoff doubles with each failure, between these bounds of client-go. */
const FIRST_BACKOFF: Ms = 800;
const MAX_BACKOFF: Ms = 30_000;
/** A longer Retry-After counts as this time. */
const LONGEST_RETRY_AFTER: Ms = 60_000;

/** The delay after `attempts` failed operations in a row. */
export function backoffDelay(attempts: number, random: Random): Ms {
  const ceiling = Math.min(FIRST_BACKOFF * 2 ** (attempts - 1), MAX_BACKOFF);
  // Managers that lost the same API server must not reconnect at the same time.
  return ceiling * (0.5 + 0.5 * random.next());
}

/** The longer of the backoff and the Retry-After of the API server. */
export const delayAfter = ({ failures, error }: BackingOff, random: Random): Ms =>
  Math.max(backoffDelay(failures, random), retryAfterOf(error));

const retryAfterOf = (error: unknown): Ms =>
  error instanceof KubeError ? Math.min(error.retryAfter ?? 0, LONGEST_RETRY_AFTER) : 0;

/** On average less than the five minutes after which many load balancers drop an idle connection. */
const WATCH_TIMEOUT_SECONDS = 290;
/** The fraction by which timeouts vary, so that watches that were opened together do not end together. */
const WATCH_TIMEOUT_JITTER = 0.05;
/** A watch that the API server has not closed by this time after its timeout counts as dead. */
export const IDLE_MARGIN: Ms = 15_000;

/** The timeoutSeconds of a new watch. */
export const watchTimeoutSeconds = (random: Random): number =>
  Math.round(WATCH_TIMEOUT_SECONDS * (1 + WATCH_TIMEOUT_JITTER * (2 * random.next() - 1)));

/** An outage is reported after this time, which is longer than a restart of the API server. */
export const REPORTED_OUTAGE: Ms = 180_000;

/** Measures for how long the watch has not worked. A kind that the API server does not serve has no outage. */
export class WatchOutage {
  private since: Ms | undefined;

  /** To be called after each step of the reflector, with the states before and after it. */
  observe(before: ReflectorState, input: ReflectorInput, after: ReflectorState, now: Ms): void {
    if (after.kind === 'unserved' || provesWatch(before, input, after, now)) this.since = undefined;
    if (after.kind === 'backingOff') this.since ??= now;
  }

  /** 0 while the watch works. */
  duration(state: ReflectorState, now: Ms): Ms {
    return this.since === undefined || isOpen(state, now) ? 0 : now - this.since;
  }
}

/** A watch without response headers fails after REQUEST_DEADLINE, so a watch that has lasted longer is certainly open. */
const isOpen = (state: ReflectorState, now: Ms): boolean =>
  state.kind === 'watching' && now - state.openedAt > REQUEST_DEADLINE;

/** Whether the watch has worked up to now; it may have ended with this input. */
const provesWatch = (before: ReflectorState, input: ReflectorInput, after: ReflectorState, now: Ms): boolean =>
  isOpen(before, now) ||
  (before.kind === 'watching' && after.kind === 'watching' && (input.kind === 'event' || input.kind === 'ended'));
