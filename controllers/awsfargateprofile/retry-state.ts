import { keyOf, keyText, type ObjectKey } from 'controller-runtime/client';
import type { Clock, Ms, Random } from 'controller-runtime/env';
import type { ProfileRecord } from '../shared/record.ts';
import type { Unanswered } from './record-after-read.ts';
import { FAILED_PROFILE_RETRY } from './reasons/delays.ts';
import { type Reason, type ReasonName, type SiblingChange, isEndedBySibling } from './reasons/reasons.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { ReconcileInputs } from './goal/inputs.ts';
import type { Mutation } from './model/change.ts';
import type { Announced } from './model/result.ts';
import { type Observed, findProfile } from './model/observed-state.ts';
import type { IdentityRef } from '../../pkg/cloud/index.ts';
import { CREATE_FAILED, DELETE_FAILED } from './model/profile-status.ts';

/**
 * What the process remembers about an object between reconciles. All times are monotonic. A new process starts without
 * it, which costs time and may repeat events and refused requests. Also, `recorded` and `unanswered` correct the
 * annotation if another client has removed or restored it, or if it still contains a request that AWS has refused. A
 * new process has only the annotation.
 */
export interface RetryState {
  /**
   * Why the object waits, and since when it has waited for this reason without a break. `isContradiction`: the reason is
   * an AWSError about contradictory answers.
   */
  readonly waiting?: { readonly name: ReasonName; readonly since: Ms; readonly isContradiction?: boolean };
  /**
   * The failed changes, oldest first. There can be several, because a refused optional change does not end a reconcile.
   */
  readonly refused?: readonly Refusal[];
  readonly trustRejected?: { readonly generation: number; readonly since: Ms };
  /** The retries of a Fargate profile that EKS failed to create or delete. */
  readonly recovery?: Recovery;
  /**
   * The record as this process last wrote it. Kept here, because another client may remove the record annotation or
   * restore an old one.
   */
  readonly recorded?: ProfileRecord;
  readonly unanswered?: Unanswered;
  /**
   * Until this time, a reconcile with nothing to do reads only the recorded profiles (see {@link Observed.depth}).
   * `undefined` if this process has not yet read all profiles of the EKS cluster for the object.
   */
  readonly surveyed?: { readonly until: Ms };
  /** What the last report announced in events. `undefined` until this process first reports the object. */
  readonly announced?: Announced;
  readonly clusterGoneSince?: Ms;
}

/** A failed change, which is not sent again before `notBefore`, unless the spec changes. */
export interface Refusal {
  readonly mutation: string;
  readonly generation: number;
  readonly reason: Reason;
  /** Since when changes have failed for such a reason. */
  readonly since: Ms;
  readonly notBefore: Ms;
}

interface Recovery {
  readonly generation: number;
  readonly attempts: number;
  /** `undefined` while a retry is under way. */
  readonly notBefore?: Ms;
}

export const NO_RETRY_STATE: RetryState = {};

/** Returns how long the object has waited for the turn that it now gets. */
export const turnWait = ({ waiting }: RetryState, now: Ms): Ms =>
  waiting?.name === 'WaitingForSibling' || waiting?.name === 'ClusterUpdating' ? now - waiting.since : 0;

/** Returns how long the object has waited for `reason`: 0 if it waits for another reason or does not wait. */
export function waitedFor({ waiting }: RetryState, reason: Pick<Reason, 'name'>, now: Ms): Ms {
  return waiting?.name === reason.name ? now - waiting.since : 0;
}

const isContradiction = (reason: Reason): boolean =>
  reason.name === 'AWSError' && reason.facts.contradictory !== undefined;

export function withWait(state: RetryState, reason: Reason, now: Ms): RetryState {
  const { waiting } = state;
  const { name } = reason;
  const isLasting = waiting?.name === name && (waiting.isContradiction ?? false) === isContradiction(reason);
  if (isLasting) return state;
  return { ...state, waiting: { name, since: now, ...(isContradiction(reason) && { isContradiction: true }) } };
}

export function notBeforeFor({ recovery, refused }: RetryState, reason: Reason): Ms | undefined {
  if (reason.name === 'CreateFailed' || reason.name === 'DeleteFailed') return recovery?.notBefore;
  return refused?.find((each) => each.reason === reason)?.notBefore;
}

/**
 * Returns the state after a reconcile without a problem. Keeps what the record and the reports need, the failed changes
 * that `notices` report, the retries of a predecessor that EKS failed to delete, so that their backoff grows, and since
 * when AWS has not deleted what the desired profile does not need.
 */
export function withSuccess(
  { refused = [], recovery, waiting, trustRejected: _over, ...kept }: RetryState,
  notices: readonly Reason[] = [],
  now: Ms = 0,
): RetryState {
  const reported = refused.filter(({ reason }) => notices.includes(reason));
  const removing = notices.find(({ name }) => name === 'Draining' || name === 'RemovingPredecessor');
  const contradiction = notices.find((each) => each.name === 'Propagating' || isContradiction(each));
  const failing = contradiction ?? notices.find(({ name }) => name === 'AWSError');
  // A refusal has its own time, so the other waits continue next to it.
  const first = removing ?? failing ?? reported[0]?.reason;
  return {
    ...kept,
    ...(removing !== undefined && recovery !== undefined && { recovery }),
    ...(first !== undefined && withWait({ ...(waiting && { waiting }) }, first, now)),
    ...(reported.length > 0 && { refused: reported }),
  };
}

/**
 * After this time, the next reconcile reads all profiles of the EKS cluster again, to find profiles that another
 * management cluster has created.
 */
const SURVEY_INTERVAL: Ms = 60 * 60_000;
const SURVEY_JITTER = 0.2;

export const isSurveyDue = ({ surveyed }: RetryState, now: Ms): boolean =>
  surveyed === undefined || now >= surveyed.until;

/** Called after a survey. */
export const withSurvey = (state: RetryState, now: Ms, random: Random): RetryState => ({
  ...state,
  surveyed: { until: now + SURVEY_INTERVAL * (1 + SURVEY_JITTER * random.next()) },
});

/** Returns the state after which the next reconcile reads all profiles of the EKS cluster. */
export const withSurveyDue = ({ surveyed: _until, ...state }: RetryState): RetryState => state;

export const withRecorded = (state: RetryState, recorded: ProfileRecord): RetryState => ({ ...state, recorded });

interface Entry {
  readonly uid: string;
  readonly state: RetryState;
}

export interface RetryHandle {
  readonly state: RetryState;
  update(change: (state: RetryState) => RetryState): RetryState;
}

/** Each update applies a function to the newest state, so that a reconcile does not undo what a watch event changes. */
export class RetryStore {
  private readonly clock: Pick<Clock, 'monotonic'>;
  private readonly entries = new Map<string, Entry>();
  /** The names of objects whose wait may end when another object changes, by namespace. */
  private readonly siblingWaits = new Map<string, Set<string>>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock;
  }

  get({ metadata }: Pick<AWSFargateProfile, 'metadata'>): RetryState {
    const entry = this.entries.get(keyText(keyOf({ metadata })));
    return entry?.uid === metadata.uid ? entry.state : NO_RETRY_STATE;
  }

  /**
   * Whether a problem, and not the wait for its turn, stopped the object's last reconcile. After a start, the condition
   * Stalled decides, because a stalled object does not continue until a user acts.
   */
  isStoppedOtherwise(object: AWSFargateProfile): boolean {
    const { waiting } = this.get(object);
    if (waiting !== undefined) return waiting.name !== 'WaitingForSibling' && waiting.name !== 'ClusterUpdating';
    return object.status?.conditions?.some(({ type, status }) => type === 'Stalled' && status === 'True') === true;
  }

  get waitingForTurn(): number {
    return [...this.entries.values()].filter(({ state }) => state.waiting?.name === 'WaitingForSibling').length;
  }

  update({ metadata }: Pick<AWSFargateProfile, 'metadata'>, change: (state: RetryState) => RetryState): RetryState {
    const state = change(this.get({ metadata }));
    this.set(keyOf({ metadata }), { uid: metadata.uid, state });
    return state;
  }

  private set(key: ObjectKey, entry: Entry | undefined): void {
    if (entry === undefined) this.entries.delete(keyText(key));
    else this.entries.set(keyText(key), entry);
    const names = this.siblingWaits.get(key.namespace) ?? new Set<string>();
    const { waiting } = entry?.state ?? {};
    if (waiting !== undefined && isEndedBySibling(waiting.name, 'gone')) names.add(key.name);
    else names.delete(key.name);
    if (names.size > 0) this.siblingWaits.set(key.namespace, names);
    else this.siblingWaits.delete(key.namespace);
  }

  handleFor(object: Pick<AWSFargateProfile, 'metadata'>): RetryHandle {
    const read = (): RetryState => this.get(object);
    return {
      get state() {
        return read();
      },
      update: (change) => this.update(object, change),
    };
  }

  forget(key: ObjectKey): void {
    this.set(key, undefined);
  }

  endSiblingWaits(
    namespace: string,
    change: SiblingChange,
    isSibling: (key: ObjectKey) => boolean,
  ): readonly ObjectKey[] {
    return [...(this.siblingWaits.get(namespace) ?? [])]
      .map((name) => ({ namespace, name }))
      .filter((key) => isSibling(key) && this.endSiblingWait(key, change));
  }

  private endSiblingWait(key: ObjectKey, change: SiblingChange): boolean {
    const entry = this.entries.get(keyText(key));
    if (entry?.state.waiting === undefined || !isEndedBySibling(entry.state.waiting.name, change)) return false;
    this.set(key, { ...entry, state: withSuccess(entry.state) });
    return true;
  }

  /**
   * Returns for how long the object's Cluster has been missing. `undefined` if the Cluster exists, if the object has
   * none, or if the cache does not know.
   */
  trackCluster({ object, cluster }: Pick<ReconcileInputs, 'object' | 'cluster'>): Ms | undefined {
    const { clusterGoneSince } = this.get(object);
    if (cluster.kind === 'found' && clusterGoneSince !== undefined)
      this.update(object, ({ clusterGoneSince: _over, ...state }) => state);
    if (cluster.kind !== 'absent') return undefined;
    const now = this.clock.monotonic();
    const since = clusterGoneSince ?? now;
    if (clusterGoneSince === undefined) this.update(object, (state) => ({ ...state, clusterGoneSince: since }));
    return now - since;
  }
}

/**
 * True for the deletion of a profile that EKS failed to create or delete. If a profile with the status CREATE_FAILED
 * differs from the spec, its deletion does not count: the profile is not recreated in the same form.
 */
export function isRetryOfFailedProfile(
  mutation: Mutation,
  { profiles }: Pick<Observed, 'profiles'>,
): mutation is Extract<Mutation, { kind: 'deleteProfile' }> {
  if (mutation.kind !== 'deleteProfile') return false;
  const status = findProfile(profiles, mutation.name)?.status;
  return status === DELETE_FAILED || (status === CREATE_FAILED && mutation.because === 'failed');
}

/** Starts the backoff when a failed profile is first seen, or after a retry. A change of the spec ends the backoff. */
export function withProfileFailure(state: RetryState, generation: number, now: Ms): RetryState {
  const { recovery } = state;
  if (recovery !== undefined && recovery.generation !== generation) {
    return { ...state, recovery: { generation, attempts: 0, notBefore: now } };
  }
  if (recovery?.notBefore !== undefined) return state;
  const attempts = recovery?.attempts ?? 0;
  const pause = Math.min(FAILED_PROFILE_RETRY.first * 2 ** attempts, FAILED_PROFILE_RETRY.longest);
  return { ...state, recovery: { generation, attempts, notBefore: now + pause } };
}

export const attemptsOf = ({ recovery }: RetryState, generation: number): number =>
  recovery?.generation === generation ? recovery.attempts : 0;

/** Must be called when AWS has accepted a retry. */
export function withAttempt(state: RetryState, generation: number): RetryState {
  return { ...state, recovery: { generation, attempts: attemptsOf(state, generation) + 1 } };
}

export const mutationKey = (mutation: Mutation, identity: IdentityRef | undefined): string =>
  JSON.stringify([mutation, identity]);

/** Returns since when changes have failed for such a reason, even if the object waits for something else. */
export const refusedSince = ({ waiting, refused }: RetryState, { name }: Reason, now: Ms): Ms =>
  waiting?.name === name ? waiting.since : (refused?.find(({ reason }) => reason.name === name)?.since ?? now);

/** Adds a failed change, and removes those whose backoff is over. */
export function withRefusal(state: RetryState, refusal: Refusal, now: Ms): RetryState {
  const others = (state.refused ?? []).filter(
    ({ mutation, notBefore }) => mutation !== refusal.mutation && now < notBefore,
  );
  return { ...state, refused: [...others, refusal] };
}

/** Returns why the change failed. `undefined` once its backoff is over or the spec has changed. */
export function refusalFor({ refused }: RetryState, mutation: string, generation: number, now: Ms): Reason | undefined {
  return refused?.find((each) => each.mutation === mutation && each.generation === generation && now < each.notBefore)
    ?.reason;
}
