import type { Ms } from '../../../pkg/env/clock.ts';
import { findProfile } from '../decide/compare.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import type { RetryState } from './retry-state.ts';

const SECOND: Ms = 1_000;
/** Long enough to read the failure, and short compared with the retry itself, for which EKS takes minutes. */
const FIRST_RECOVERY: Ms = 10 * SECOND;
const LONGEST_RECOVERY: Ms = 600 * SECOND;

/** A profile with the status CREATE_FAILED that is not as the spec asks for is deleted for that reason. */
export function isRetryOfFailedProfile(
  mutation: Mutation,
  { profiles }: Pick<Observed, 'profiles'>,
): mutation is Extract<Mutation, { kind: 'deleteProfile' }> {
  if (mutation.kind !== 'deleteProfile') return false;
  const status = findProfile(profiles, mutation.name)?.status;
  return status === 'DELETE_FAILED' || (status === 'CREATE_FAILED' && mutation.because === 'failed');
}

/** Starts the backoff at the first look, also after a retry. A change of the spec ends it. */
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

export const attemptsOf = ({ recovery }: RetryState, generation: number): number =>
  recovery?.generation === generation ? recovery.attempts : 0;

/** After AWS has accepted the request. */
export function withAttempt(state: RetryState, generation: number): RetryState {
  return { ...state, recovery: { generation, attempts: attemptsOf(state, generation) + 1 } };
}
