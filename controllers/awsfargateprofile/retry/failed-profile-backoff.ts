import type { Ms } from '../../../pkg/env/clock.ts';
import { findProfile } from '../decide/compare.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import type { RetryState } from './retry-state.ts';

const SECOND: Ms = 1_000;
/**
 * The delay before the first retry of a failed Fargate profile. A user can read the failure during this delay. The
 * delay is short compared with the retry itself, for which EKS takes minutes.
 */
const FIRST_RECOVERY: Ms = 10 * SECOND;
const LONGEST_RECOVERY: Ms = 600 * SECOND;

/**
 * Whether the change retries an operation that EKS failed to do. Such a change deletes a Fargate profile with the
 * status DELETE_FAILED, or with the status CREATE_FAILED if the profile is as the spec asks for.
 */
export function isRetryOfFailedProfile(
  mutation: Mutation,
  { profiles }: Pick<Observed, 'profiles'>,
): mutation is Extract<Mutation, { kind: 'deleteProfile' }> {
  if (mutation.kind !== 'deleteProfile') return false;
  const status = findProfile(profiles, mutation.name)?.status;
  return status === 'DELETE_FAILED' || (status === 'CREATE_FAILED' && mutation.because === 'failed');
}

/**
 * Starts the backoff of a failed Fargate profile when a reconcile observes the failure for the first time, or for the
 * first time after a retry. A change of the spec ends the backoff.
 */
export function withProfileFailure(state: RetryState, generation: number, now: Ms): RetryState {
  const { recovery } = state;
  if (recovery !== undefined && recovery.generation !== generation) {
    return { ...state, recovery: { generation, attempts: 0, notBefore: now } };
  }
  if (recovery?.notBefore !== undefined) return state;
  const attempts = recovery?.attempts ?? 0;
  const pause = Math.min(FIRST_RECOVERY * 2 ** attempts, LONGEST_RECOVERY);
  return { ...state, recovery: { generation, attempts, notBefore: now + pause } };
}

/**
 * Returns how many times in a row the controller has retried a failed Fargate profile with this generation of the spec.
 */
export const attemptsOf = ({ recovery }: RetryState, generation: number): number =>
  recovery?.generation === generation ? recovery.attempts : 0;

/** Counts a retry of a failed Fargate profile, after AWS has accepted the request. */
export function withAttempt(state: RetryState, generation: number): RetryState {
  return { ...state, recovery: { generation, attempts: attemptsOf(state, generation) + 1 } };
}
