import type { IdentityRef } from '../../../pkg/cloud/types.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { findProfile } from '../decide/compare.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import type { PartiallyObserved } from '../model/pass.ts';
import type { Reason, ReasonName } from '../reasons/reasons.ts';

/**
 * Facts about one AWSFargateProfile that a pass leaves to the next pass. They are in memory only: without them the
 * controller is later, but never unsafe. All times are on the monotonic clock.
 */
export interface RetryState {
  /** The reason for which the object waits, and since when it has waited for that reason without a break. */
  readonly waiting?: { readonly name: ReasonName; readonly since: Ms };
  /**
   * The mutations that AWS refused, the last one last. The pass tolerates some refusals and continues, and AWS may then
   * refuse another mutation.
   */
  readonly refused?: readonly Refusal[];
  /** The time since which EKS has rejected the trust policy of the role, for this generation of the spec. */
  readonly trustRejected?: { readonly generation: number; readonly since: Ms };
  /**
   * A create request whose result is not known. `asked` is the time of the request (RFC 3339). `since` is the time at
   * which this process first did not find the profile.
   */
  readonly unconfirmedCreate?: { readonly asked: string; readonly since: Ms };
  /**
   * The value of `status.createRequestedAt` for the last create request with a known result: EKS has shown the profile,
   * or has created none.
   */
  readonly confirmedCreate?: string;
  /**
   * The access entry of a role before the creation of the profile, and the unique id of that role. Later passes use
   * this copy instead of another read, as long as the role has this unique id.
   */
  readonly accessEntry?: { readonly roleId: string; readonly entry: ObservedAccessEntry };
  /** The retries of a profile that EKS failed to create or delete. */
  readonly recovery?: Recovery;
}

/** A mutation that AWS refused. It is not sent again before the time `notBefore`, unless the spec changes. */
interface Refusal {
  /** The mutation, as {@link mutationKey} identifies it. */
  readonly mutation: string;
  readonly generation: number;
  readonly reason: Reason;
  readonly notBefore: Ms;
}

interface Recovery {
  readonly generation: number;
  readonly attempts: number;
  /** The time of the next retry; undefined while the last retry is under way. */
  readonly notBefore?: Ms;
}

export const NO_RETRY_STATE: RetryState = {};

const SECOND: Ms = 1_000;
/**
 * The delay before the first retry of a failed profile, so that a user can read the failure. Each retry takes EKS
 * minutes anyway.
 */
const FIRST_RECOVERY: Ms = 10 * SECOND;
const LONGEST_RECOVERY: Ms = 600 * SECOND;

/** Identifies a mutation in different passes: its kind, all its arguments and the identity with which it is sent. */
export const mutationKey = (mutation: Mutation, identity: IdentityRef | undefined): string =>
  JSON.stringify([mutation, identity]);

/** How long the object has waited for this reason; 0 if it waits for another reason or for none. */
export function waitedFor({ waiting }: RetryState, reason: Reason, now: Ms): Ms {
  return waiting?.name === reason.name ? now - waiting.since : 0;
}

/** Starts the wait for a reason, or continues the wait if the object already waits for that reason. */
export function withWait(state: RetryState, reason: Reason, now: Ms): RetryState {
  return state.waiting?.name === reason.name ? state : { ...state, waiting: { name: reason.name, since: now } };
}

/** Restores the wait of the state before a pass, if the result of the pass could not be written into status. */
export function withPreviousWait({ waiting }: RetryState, { waiting: _unwritten, ...state }: RetryState): RetryState {
  return waiting === undefined ? state : { ...state, waiting };
}

/** A creation or deletion by EKS that an observation has shown to be finished, and how long it took. */
export interface CompletedWait {
  readonly name: ReasonName;
  readonly duration: Ms;
}

/** The creation or deletion that the object waited for, if EKS has finished it according to this observation. */
export function completedWait(
  { waiting }: RetryState,
  { cluster, profiles }: PartiallyObserved,
  now: Ms,
): CompletedWait | undefined {
  const isOver =
    waiting?.name === 'Creating'
      ? profiles.some(({ found }) => found?.status === 'ACTIVE')
      : waiting?.name === 'DeletingProfile' &&
        cluster === 'there' &&
        profiles.every(({ found }) => found === undefined);
  return waiting !== undefined && isOver ? { name: waiting.name, duration: now - waiting.since } : undefined;
}

/** Remembers a refusal, and forgets the refusals whose backoff is over. */
export function withRefusal(state: RetryState, refusal: Refusal, now: Ms): RetryState {
  const others = (state.refused ?? []).filter(
    ({ mutation, notBefore }) => mutation !== refusal.mutation && now < notBefore,
  );
  return { ...state, refused: [...others, refusal] };
}

/**
 * The reason for which AWS refused this mutation; `undefined` after the backoff of the mutation is over or the spec has
 * changed.
 */
export function refusalFor({ refused }: RetryState, mutation: string, generation: number, now: Ms): Reason | undefined {
  return refused?.find((each) => each.mutation === mutation && each.generation === generation && now < each.notBefore)
    ?.reason;
}

/** Whether the mutation deletes a profile that EKS failed to create or delete, so that the controller can try again. */
export function isRetryOfFailedProfile(
  mutation: Mutation,
  { profiles }: Pick<Observed, 'profiles'>,
): mutation is Extract<Mutation, { kind: 'deleteProfile' }> {
  if (mutation.kind !== 'deleteProfile') return false;
  const status = findProfile(profiles, mutation.name)?.status;
  return status === 'DELETE_FAILED' || (status === 'CREATE_FAILED' && mutation.because === 'failed');
}

/**
 * Starts the backoff of a failed profile when the failure is first observed after a retry. A change of the spec ends
 * the backoff.
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

/** How many times in a row the controller has retried a failed profile with this generation of the spec. */
export const attemptsOf = ({ recovery }: RetryState, generation: number): number =>
  recovery?.generation === generation ? recovery.attempts : 0;

/** Counts a retry of a failed profile: AWS has accepted the request. */
export function withAttempt(state: RetryState, generation: number): RetryState {
  return { ...state, recovery: { generation, attempts: attemptsOf(state, generation) + 1 } };
}

/**
 * The controller holds back a mutation for this reason: the time from which it may send the mutation again. `undefined`
 * if no backoff is running.
 */
export function notBeforeFor({ recovery, refused }: RetryState, reason: Reason): Ms | undefined {
  if (reason.name === 'CreateFailed' || reason.name === 'DeleteFailed') return recovery?.notBefore;
  return refused?.find((each) => each.reason === reason)?.notBefore;
}

/** The state after a pass that found AWS as desired: all waits, refusals and failures are over. */
export const withSuccess = ({ confirmedCreate }: RetryState): RetryState =>
  confirmedCreate === undefined ? NO_RETRY_STATE : { confirmedCreate };

/**
 * The state after a pass that found AWS as desired, except for a mutation that AWS refused for the reason `notice`. The
 * controller still holds this mutation back. The wait for the mutation continues, so that its backoff grows.
 */
export function withTolerated(state: RetryState, notice: Reason, now: Ms): RetryState {
  const refused = (state.refused ?? []).filter(({ reason }) => reason === notice);
  if (refused.length === 0) return withSuccess(state);
  const { waiting } = withWait(state, notice, now);
  return { ...withSuccess(state), refused, ...(waiting && { waiting }) };
}
