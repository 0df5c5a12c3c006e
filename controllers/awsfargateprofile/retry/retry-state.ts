import type { Ms } from '../../../pkg/env/clock.ts';
import type { Note } from '../../shared/note.ts';
import type { Drained } from '../model/drained.ts';
import type { Unanswered } from '../note.ts';
import type { Reason, ReasonName } from '../reasons/reasons.ts';

/** Losing the state costs time, and nothing else. All times are on the monotonic clock. */
export interface RetryState {
  /** Without a break since then. */
  readonly waiting?: { readonly name: ReasonName; readonly since: Ms };
  /** In the order of the refusals. A reconcile continues after a refusal that does no harm. */
  readonly refused?: readonly Refusal[];
  readonly trustRejected?: { readonly generation: number; readonly since: Ms };
  /** The retries of a Fargate profile that EKS failed to create or delete. */
  readonly recovery?: Recovery;
  /** What this process has noted: another client may remove the annotation, or set an old one back. */
  readonly noted?: Note;
  readonly unanswered?: Unanswered;
  /** Until then a glance suffices at rest; undefined: this process has not surveyed the EKS cluster for the object. */
  readonly surveyed?: { readonly until: Ms };
  readonly drain?: Asked;
}

/** When the workload cluster was last asked about the pods of a predecessor, and what came of it. */
export interface Asked {
  readonly predecessor: string;
  readonly generation: number;
  readonly at: Ms;
  readonly told: Reason<'Draining'> | Drained;
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
 * All is over but what the note needs, the refused changes with one of the `notices`, and the retries of a predecessor that
 * EKS failed to delete, so that their backoff grows.
 */
export function withSuccess(
  { noted, unanswered, surveyed, drain, refused = [], recovery, waiting }: RetryState,
  notices: readonly Reason[] = [],
  now: Ms = 0,
): RetryState {
  const kept = refused.filter(({ reason }) => notices.includes(reason));
  const removing = notices.find(({ name }) => name === 'Draining' || name === 'RemovingPredecessor');
  const first = kept[0]?.reason ?? removing;
  return {
    ...(noted !== undefined && { noted }),
    ...(unanswered !== undefined && { unanswered }),
    ...(surveyed !== undefined && { surveyed }),
    ...(removing !== undefined && recovery !== undefined && { recovery }),
    ...(removing !== undefined && drain !== undefined && { drain }),
    ...(first !== undefined && withWait({ ...(waiting && { waiting }) }, first, now)),
    ...(kept.length > 0 && { refused: kept }),
  };
}

export const withNoted = (state: RetryState, noted: Note): RetryState => ({ ...state, noted });
