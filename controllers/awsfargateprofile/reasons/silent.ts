import type { Ms } from '../../../pkg/env/clock.ts';
import { defineReason } from './spec/reason-spec.ts';
import { pollEvery } from './spec/poll-intervals.ts';

/**
 * The delay after a pass that ended without a result. Within this time the rate limiter usually admits a request again,
 * the manager renews its leader lease, or another pass releases the lock of a shared role.
 */
const MOMENT: Ms = 1_000;
const silent = { nature: 'wait', silent: true, poll: pollEvery(MOMENT), describe: () => '' } as const;

/** Reasons to end a pass of which nothing is reported: the object has no problem, and the next pass comes soon. */
export const SILENT_REASONS = {
  /** Another client wrote or deleted the object during the pass. The next pass comes after a backoff. */
  Conflict: defineReason<object>(silent),
  /** The facts of the pass are outdated, for example by its own change. The next pass comes after a backoff. */
  Outdated: defineReason<{ readonly because: string }>(silent),
  /** The manager must not go on now, for example without its lease or during a pause. */
  NotNow: defineReason<{ readonly because: string }>(silent),
} as const;
