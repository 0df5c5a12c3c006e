import type { Clock } from '../../../../pkg/env/clock.ts';
import { findProfile } from '../../decide/compare.ts';
import { newReason } from '../../reasons/reasons.ts';
import { isRetryOfFailedProfile } from '../../retry/failed-profile-backoff.ts';
import { mutationKey, refusalFor } from '../../retry/refused-mutations.ts';
import { type Check, stop } from '../guards.ts';

interface BackoffCheckServices {
  readonly clock: Clock;
}

/** A refused change is not sent again before its backoff ends or the spec changes. */
export function refusalExpired({ clock }: BackoffCheckServices): Check {
  return async (mutation, { object, retry, target }) => {
    const generation = object.metadata.generation ?? 0;
    const reason = refusalFor(retry.state, mutationKey(mutation, target.identity), generation, clock.monotonic());
    return reason && stop(reason);
  };
}

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
