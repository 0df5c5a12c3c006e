import type { Ms } from '../../../pkg/env/clock.ts';
import type { Reason, ReasonName } from '../reasons/reasons.ts';

/**
 * Facts about one AWSFargateProfile that a reconcile leaves to the next one. They are in memory only: without them the
 * controller acts at other times, but not wrongly. All times are on the monotonic clock.
 */
export interface RetryState {
  /**
   * The reason because of which the object waits, and since when it has waited because of that reason without a break.
   */
  readonly waiting?: {
    readonly name: ReasonName;
    readonly since: Ms;
  };
  /**
   * The changes that AWS refused, in the order of the refusals. A reconcile continues after a refusal that does no
   * harm, so AWS may then refuse another change.
   */
  readonly refused?: readonly Refusal[];
  /**
   * The time since which EKS has rejected the trust policy of the IAM role, and the generation of the spec at that
   * time.
   */
  readonly trustRejected?: { readonly generation: number; readonly since: Ms };
  /**
   * A create request for the Fargate profile whose result is not known. `asked` is the time of the request (RFC 3339),
   * or `BEFORE_MOVE` of create-visibility.ts. `since` is the time at which this process first noticed the request.
   */
  readonly unconfirmedCreate?: { readonly asked: string; readonly since: Ms };
  /**
   * The value of `status.createRequestedAt`, or `BEFORE_MOVE`, for the last create request whose result is known: EKS
   * has shown the profile, or has certainly not created it.
   */
  readonly confirmedCreate?: string;
  /** The retries of a Fargate profile that EKS failed to create or delete. */
  readonly recovery?: Recovery;
}

/**
 * A change that AWS refused, or that failed for another reason. It is not sent again before the time `notBefore`,
 * unless the spec changes.
 */
export interface Refusal {
  /** A text that identifies the change: the result of `mutationKey` in refused-mutations.ts. */
  readonly mutation: string;
  readonly generation: number;
  readonly reason: Reason;
  readonly notBefore: Ms;
}

interface Recovery {
  readonly generation: number;
  readonly attempts: number;
  /** The time of the next retry of the failed Fargate profile; undefined while the last retry is under way. */
  readonly notBefore?: Ms;
}

export const NO_RETRY_STATE: RetryState = {};

/**
 * Returns how long the object has waited because of this reason; 0 if it waits because of another reason or does not
 * wait.
 */
export function waitedFor({ waiting }: RetryState, reason: Pick<Reason, 'name'>, now: Ms): Ms {
  return waiting?.name === reason.name ? now - waiting.since : 0;
}

/** Starts a wait because of a reason, or continues it if the object already waits because of that reason. */
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

/**
 * Returns the end of the backoff after a failure with this reason: from then on, the controller may send the failed
 * change again. `undefined` if there is no backoff.
 */
export function notBeforeFor({ recovery, refused }: RetryState, reason: Reason): Ms | undefined {
  if (reason.name === 'CreateFailed' || reason.name === 'DeleteFailed') return recovery?.notBefore;
  return refused?.find((each) => each.reason === reason)?.notBefore;
}

/**
 * Returns the state after a pass that found AWS as desired: all waits and failures are over. Of the refused changes, only
 * those with one of the `notices` stay recorded, so that their backoff grows and the controller does not send them yet.
 */
export function withSuccess(
  { confirmedCreate, refused = [], waiting }: RetryState,
  notices: readonly Reason[] = [],
  now: Ms = 0,
): RetryState {
  const kept = refused.filter(({ reason }) => notices.includes(reason));
  const [first] = kept;
  return {
    ...(confirmedCreate !== undefined && { confirmedCreate }),
    ...(first !== undefined && { ...withWait({ ...(waiting && { waiting }) }, first.reason, now), refused: kept }),
  };
}
