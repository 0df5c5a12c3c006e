import type { Ms } from '../../../pkg/env/clock.ts';
import type { Reason, ReasonName } from '../reasons/reasons.ts';

/** Losing the state costs time, and nothing else. All times are on the monotonic clock. */
export interface RetryState {
  /** Without a break since then. */
  readonly waiting?: { readonly name: ReasonName; readonly since: Ms };
  /** In the order of the refusals. A reconcile continues after a refusal that does no harm. */
  readonly refused?: readonly Refusal[];
  readonly trustRejected?: { readonly generation: number; readonly since: Ms };
  /** Without a known result. `asked` is its time (RFC 3339) or `BEFORE_MOVE`; this process has known it `since`. */
  readonly unconfirmedCreate?: { readonly asked: string; readonly since: Ms };
  /** As `asked`, for the last request whose result is known: EKS has shown the profile, or has not created it. */
  readonly confirmedCreate?: string;
  /** The retries of a Fargate profile that EKS failed to create or delete. */
  readonly recovery?: Recovery;
}

/** A failed change, which is not sent again before `notBefore` unless the spec changes. */
export interface Refusal {
  /** The result of `mutationKey` in refused-mutations.ts. */
  readonly mutation: string;
  readonly generation: number;
  readonly reason: Reason;
  readonly notBefore: Ms;
}

interface Recovery {
  readonly generation: number;
  readonly attempts: number;
  /** The time of the next retry; undefined while the last one is under way. */
  readonly notBefore?: Ms;
}

export const NO_RETRY_STATE: RetryState = {};

/** 0 if it waits because of another reason or does not wait. */
export function waitedFor({ waiting }: RetryState, reason: Pick<Reason, 'name'>, now: Ms): Ms {
  return waiting?.name === reason.name ? now - waiting.since : 0;
}

export function withWait(state: RetryState, reason: Reason, now: Ms): RetryState {
  return state.waiting?.name === reason.name ? state : { ...state, waiting: { name: reason.name, since: now } };
}

/** With the wait from before a reconcile whose result could not be written into status. */
export function withPreviousWait({ waiting }: RetryState, { waiting: _unwritten, ...state }: RetryState): RetryState {
  return waiting === undefined ? state : { ...state, waiting };
}

/** The end of the backoff after a failure with this reason. */
export function notBeforeFor({ recovery, refused }: RetryState, reason: Reason): Ms | undefined {
  if (reason.name === 'CreateFailed' || reason.name === 'DeleteFailed') return recovery?.notBefore;
  return refused?.find((each) => each.reason === reason)?.notBefore;
}

/**
 * All is over but the refused changes with one of the `notices`, and the retries of a predecessor that EKS failed to
 * delete, so that their backoff grows. The create request without an answer may be that of a profile that is not wanted
 * any more.
 */
export function withSuccess(
  { unconfirmedCreate, confirmedCreate, refused = [], recovery, waiting }: RetryState,
  notices: readonly Reason[] = [],
  now: Ms = 0,
): RetryState {
  const kept = refused.filter(({ reason }) => notices.includes(reason));
  const removing = notices.find(({ name }) => name === 'RemovingPredecessor');
  const first = kept[0]?.reason ?? removing;
  return {
    ...(unconfirmedCreate !== undefined && { unconfirmedCreate }),
    ...(confirmedCreate !== undefined && { confirmedCreate }),
    ...(removing !== undefined && recovery !== undefined && { recovery }),
    ...(first !== undefined && withWait({ ...(waiting && { waiting }) }, first, now)),
    ...(kept.length > 0 && { refused: kept }),
  };
}
