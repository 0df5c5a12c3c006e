import type { IdentityRef } from '../../../pkg/cloud/types.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { findProfile } from '../decide/compare.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed, ObservedAccessEntry } from '../model/observed-state.ts';
import type { PartiallyObserved } from '../model/pass.ts';
import type { Reason, ReasonName } from '../reasons/reasons.ts';

/**
 * Facts about one AWSFargateProfile that a reconcile leaves to the next one. They are in memory only: without them the
 * controller acts later, but not wrongly. All times are on the monotonic clock.
 */
export interface RetryState {
  /** The reason for which the object waits, and since when it has waited for that reason without a break. */
  readonly waiting?: {
    readonly name: ReasonName;
    readonly since: Ms;
    /** How long the wait had lasted when EKS last showed that it was not over. */
    readonly lasted?: Ms;
  };
  /**
   * The changes that AWS refused, the last one last. There can be several: a reconcile continues after a refusal that
   * does no harm, and AWS may then refuse another change.
   */
  readonly refused?: readonly Refusal[];
  /**
   * The time since which EKS has rejected the trust policy of the IAM role, and the generation of the spec at that
   * time.
   */
  readonly trustRejected?: { readonly generation: number; readonly since: Ms };
  /**
   * A create request for the Fargate profile whose result is not known. `asked` is the time of the request (RFC 3339).
   * `since` is the time at which this process first noticed the request.
   */
  readonly unconfirmedCreate?: { readonly asked: string; readonly since: Ms };
  /**
   * The value of `status.createRequestedAt` for the last create request whose result is known: EKS has shown the
   * profile, or has certainly not created it.
   */
  readonly confirmedCreate?: string;
  /**
   * The EKS access entry as it was before the creation of the Fargate profile, and the unique id of its IAM role. As
   * long as the role has this id, later reconciles use this copy and do not read the entry again.
   */
  readonly accessEntry?: { readonly roleId: string; readonly entry: ObservedAccessEntry };
  /** The retries of a Fargate profile that EKS failed to create or delete. */
  readonly recovery?: Recovery;
}

/** A change that AWS refused. It is not sent again before the time `notBefore`, unless the spec changes. */
interface Refusal {
  /** The change, as {@link mutationKey} identifies it. */
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
 * The delay before the first retry of a failed Fargate profile, so that a user can read the failure. It costs little,
 * because EKS takes minutes for each retry.
 */
const FIRST_RECOVERY: Ms = 10 * SECOND;
const LONGEST_RECOVERY: Ms = 600 * SECOND;

/**
 * Returns a text that identifies a change in AWS across reconciles: its kind, its arguments and the identity that sends
 * it.
 */
export const mutationKey = (mutation: Mutation, identity: IdentityRef | undefined): string =>
  JSON.stringify([mutation, identity]);

/** Returns how long the object has waited for this reason; 0 if it waits for another reason or for none. */
export function waitedFor({ waiting }: RetryState, reason: Reason, now: Ms): Ms {
  return waiting?.name === reason.name ? now - waiting.since : 0;
}

/** Starts a wait for a reason, or continues it if the object already waits for that reason. */
export function withWait(state: RetryState, reason: Reason, now: Ms): RetryState {
  return state.waiting?.name === reason.name ? state : { ...state, waiting: { name: reason.name, since: now } };
}

/**
 * Restores the wait that was recorded before a reconcile, because the result of the reconcile could not be written into
 * status.
 */
export function withPreviousWait({ waiting }: RetryState, { waiting: _unwritten, ...state }: RetryState): RetryState {
  return waiting === undefined ? state : { ...state, waiting };
}

/** The creation or deletion of a Fargate profile that EKS has finished, and how long it took. */
export interface CompletedWait {
  readonly name: ReasonName;
  /** How long the wait had lasted when EKS last showed that it was not over; 0 if EKS was not asked before. */
  readonly lasted: Ms;
  readonly took: Ms;
}

/** Returns the creation or deletion for which the object waited, if the state of AWS shows that EKS has finished it. */
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
  return waiting !== undefined && isOver
    ? { name: waiting.name, lasted: waiting.lasted ?? 0, took: now - waiting.since }
    : undefined;
}

/**
 * Returns the state in which the wait has lasted until `askedAt`, if an observation that began at that time shows that
 * EKS has not finished yet. The answer can come much later, when EKS has long finished.
 */
export function withUnfinishedWait(state: RetryState, { profiles }: PartiallyObserved, askedAt: Ms): RetryState {
  const { waiting } = state;
  const isUnfinished =
    (waiting?.name === 'Creating' && profiles.some(({ found }) => found?.status === 'CREATING')) ||
    (waiting?.name === 'DeletingProfile' && profiles.some(({ found }) => found?.status === 'DELETING'));
  return waiting !== undefined && isUnfinished
    ? { ...state, waiting: { ...waiting, lasted: Math.max(0, askedAt - waiting.since) } }
    : state;
}

/** Records a change that AWS refused, and forgets the refused changes whose backoff is over. */
export function withRefusal(state: RetryState, refusal: Refusal, now: Ms): RetryState {
  const others = (state.refused ?? []).filter(
    ({ mutation, notBefore }) => mutation !== refusal.mutation && now < notBefore,
  );
  return { ...state, refused: [...others, refusal] };
}

/**
 * Returns the reason for which AWS refused this change. `undefined` once the backoff of the change is over or the spec
 * has changed.
 */
export function refusalFor({ refused }: RetryState, mutation: string, generation: number, now: Ms): Reason | undefined {
  return refused?.find((each) => each.mutation === mutation && each.generation === generation && now < each.notBefore)
    ?.reason;
}

/**
 * Whether the change deletes a Fargate profile that EKS failed to create or delete, so that the controller can try
 * again.
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
 * Starts the backoff of a failed Fargate profile when its failure is first observed after a retry. A change of the spec
 * ends the backoff.
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

/**
 * Returns the time from which the controller may send the change again that it holds back for this reason. `undefined`
 * if there is no backoff.
 */
export function notBeforeFor({ recovery, refused }: RetryState, reason: Reason): Ms | undefined {
  if (reason.name === 'CreateFailed' || reason.name === 'DeleteFailed') return recovery?.notBefore;
  return refused?.find((each) => each.reason === reason)?.notBefore;
}

/** Returns the state after a reconcile that found AWS as desired: all waits, refused changes and failures are over. */
export const withSuccess = ({ confirmedCreate }: RetryState): RetryState =>
  confirmedCreate === undefined ? NO_RETRY_STATE : { confirmedCreate };

/**
 * Returns the state after a reconcile that found AWS as desired, except for a change that AWS refused for the reason
 * `notice`. The controller still holds this change back. The wait for it continues, so that its backoff grows.
 */
export function withTolerated(state: RetryState, notice: Reason, now: Ms): RetryState {
  const refused = (state.refused ?? []).filter(({ reason }) => reason === notice);
  if (refused.length === 0) return withSuccess(state);
  const { waiting } = withWait(state, notice, now);
  return { ...withSuccess(state), refused, ...(waiting && { waiting }) };
}
