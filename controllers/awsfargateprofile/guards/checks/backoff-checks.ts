import type { Clock } from '../../../../pkg/env/clock.ts';
import { findProfile } from '../../decide/compare.ts';
import { newReason } from '../../reasons/reasons.ts';
import { isRetryOfFailedProfile } from '../../retry/failed-profile-backoff.ts';
import { mutationKey, refusalFor } from '../../retry/refused-mutations.ts';
import { type Check, stop } from '../guards.ts';

interface BackoffCheckServices {
  readonly clock: Clock;
}

/**
 * Returns a check that holds back a change that AWS refused recently. The change is not sent again before its backoff
 * ends or the spec changes.
 */
export function refusalExpired({ clock }: BackoffCheckServices): Check {
  return async (mutation, { object, retry, target }) => {
    const generation = object.metadata.generation ?? 0;
    const reason = refusalFor(retry.state, mutationKey(mutation, target.identity), generation, clock.monotonic());
    return reason && stop(reason);
  };
}

/**
 * Returns a check that holds back the retry of a failed Fargate profile until the backoff ends. The retry is the
 * deletion of a profile in status DELETE_FAILED, or of a wanted profile in status CREATE_FAILED that equals the spec.
 */
export function failureBackoffExpired({ clock }: BackoffCheckServices): Check {
  return async (mutation, { observed, retry }) => {
    if (!isRetryOfFailedProfile(mutation, observed)) return undefined;
    const found = findProfile(observed.profiles, mutation.name);
    const now = clock.monotonic();
    if (found === undefined || now >= (retry.state.recovery?.notBefore ?? now)) return undefined;
    const facts = { name: found.name, issues: found.health };
    const name = found.status === 'CREATE_FAILED' ? 'CreateFailed' : 'DeleteFailed';
    return stop(newReason(name, facts));
  };
}
