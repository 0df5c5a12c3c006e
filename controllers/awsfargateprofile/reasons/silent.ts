import type { Ms } from '../../../pkg/env/clock.ts';
import { defineReason } from './spec/reason-spec.ts';
import { pollEvery } from './spec/poll-intervals.ts';

/**
 * Within this time the rate limiter usually admits a request again, the manager renews its lease, or another pass
 * releases the lock of a role.
 */
const MOMENT: Ms = 1_000;
const silent = { nature: 'wait', silent: true, poll: pollEvery(MOMENT), describe: () => '' } as const;

/** Nothing is reported: the object has no problem, and the next pass comes soon. */
export const SILENT_REASONS = {
  /** Another client wrote or deleted the object. */
  Conflict: defineReason<object>(silent),
  /** For example by a change of the pass itself. */
  Outdated: defineReason<{ readonly because: string }>(silent),
  /** For example without the lease or during a pause. */
  NotNow: defineReason<{ readonly because: string }>(silent),
} as const;
