import { type AWSFargateProfile, DELETION_REQUESTED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import { isDeleting } from '../../shared/object-state.ts';
import type { ReconcileInputs } from '../goal/inputs.ts';
import { locationOf } from '../model/location.ts';
import { profileNameOf } from '../../shared/profile-names.ts';
import type { Observed } from '../model/observed-state.ts';
import { type SiblingChange, isEndedBySibling } from '../reasons/reasons.ts';
import { BEFORE_MOVE, isCreateUnconfirmed, withConfirmedCreate, withUnconfirmedCreate } from './create-visibility.ts';
import { type RetryState, NO_RETRY_STATE, withSuccess } from './retry-state.ts';

interface Entry {
  readonly uid: string;
  readonly state: RetryState;
}

/** Read and write access to the retry state of one AWSFargateProfile. */
export interface RetryHandle {
  readonly state: RetryState;
  update(change: (state: RetryState) => RetryState): RetryState;
}

/**
 * The retry states of all AWSFargateProfiles. An object that is created with the name of a deleted object starts
 * without retry state.
 *
 * Each change applies a function to the newest state. So a change by a watch event during a reconcile is not lost.
 */
export class RetryStore {
  private readonly clock: Pick<Clock, 'monotonic'>;
  /** For each object key: the uid and the retry state of the object. */
  private readonly entries = new Map<string, Entry>();
  /** For each namespace: the names of the objects whose wait a change of another object may end. */
  private readonly siblingWaits = new Map<string, Set<string>>();
  /** For each object key: the time on the monotonic clock since which the object's Cluster does not exist. */
  private readonly clusterGoneSince = new Map<string, Ms>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock;
  }

  get({ metadata }: Pick<AWSFargateProfile, 'metadata'>): RetryState {
    const entry = this.entries.get(keyText(keyOf({ metadata })));
    return entry?.uid === metadata.uid ? entry.state : NO_RETRY_STATE;
  }

  /**
   * Whether the last pass of the object stopped for something other than its turn. After a start, the condition Stalled
   * tells, because a stalled object does not continue until a user acts.
   */
  isStoppedOtherwise(object: AWSFargateProfile): boolean {
    const { waiting } = this.get(object);
    if (waiting !== undefined) return waiting.name !== 'WaitingForSibling' && waiting.name !== 'ClusterUpdating';
    return object.status?.conditions?.some(({ type, status }) => type === 'Stalled' && status === 'True') === true;
  }

  /** The number of objects that wait for their turn in the lane of an EKS cluster. */
  get waitingForTurn(): number {
    return [...this.entries.values()].filter(({ state }) => state.waiting?.name === 'WaitingForSibling').length;
  }

  /** Changes the retry state of an object and returns the changed state. */
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

  /** Returns the retry state of one object, to be read and changed during a reconcile. */
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
    this.clusterGoneSince.delete(keyText(key));
    this.set(key, undefined);
  }

  /**
   * Ends the waits of those objects of the namespace for which `isSibling` returns true and whose problem the change of
   * another AWSFargateProfile may solve. Returns their keys.
   */
  endSiblingWaits(
    namespace: string,
    change: SiblingChange,
    isSibling: (key: ObjectKey) => boolean,
  ): readonly ObjectKey[] {
    return [...(this.siblingWaits.get(namespace) ?? [])]
      .map((name) => ({ namespace, name }))
      .filter((key) => isSibling(key) && this.endSiblingWait(key, change));
  }

  /**
   * Ends the wait of this object if the change of another AWSFargateProfile of the cluster may solve the problem of
   * this object. Returns whether the wait was ended: then the object can be reconciled at once.
   */
  endSiblingWait(key: ObjectKey, change: SiblingChange): boolean {
    const entry = this.entries.get(keyText(key));
    if (entry?.state.waiting === undefined || !isEndedBySibling(entry.state.waiting.name, change)) return false;
    this.set(key, { ...entry, state: withSuccess(entry.state) });
    return true;
  }

  /**
   * Returns the time since the object's Cluster was first found missing; `undefined` if the Cluster exists, if the
   * object has no Cluster, or if the cache cannot tell.
   */
  clusterGoneFor({ object, cluster }: Pick<ReconcileInputs, 'object' | 'cluster'>): Ms | undefined {
    const key = keyText(keyOf(object));
    if (cluster.kind !== 'absent') {
      if (cluster.kind === 'found') this.clusterGoneSince.delete(key);
      return undefined;
    }
    const now = this.clock.monotonic();
    const since = this.clusterGoneSince.get(key) ?? now;
    this.clusterGoneSince.set(key, since);
    return now - since;
  }

  /**
   * Whether a "not found" from EKS does not prove that the object's Fargate profile does not exist, because a create
   * request may be too recent.
   */
  isCreateUnconfirmed(object: AWSFargateProfile): boolean {
    const now = this.clock.monotonic();
    const record = isCreateRecordLost(object) ? LOST_RECORD : object.status;
    return isCreateUnconfirmed(
      this.update(object, (state) => withUnconfirmedCreate(state, record, now)),
      now,
    );
  }

  /**
   * Records that no create request was sent for this object before now. The controller calls this method when it first
   * records the AWS account, region and EKS cluster of the object, and it does so before any create request.
   */
  recordNoCreateSent(object: AWSFargateProfile): void {
    this.update(object, (state) => withConfirmedCreate(state, LOST_RECORD.createRequestedAt));
  }

  /**
   * Records the facts that an answer of EKS about the object's Fargate profiles shows.
   */
  recordObservation(object: AWSFargateProfile, observed: Pick<Observed, 'profiles'>): void {
    // If EKS shows a profile with the name of the object's profile, the result of the create request is known, even if
    // that profile belongs to another owner: an EKS cluster has at most one profile with a name.
    const { profileName = profileNameOf(object), createRequestedAt } = object.status ?? {};
    const isNameTaken = observed.profiles.some(({ name, found }) => name === profileName && found !== undefined);
    if (isNameTaken) {
      this.update(object, (state) => withConfirmedCreate(state, createRequestedAt ?? state.unconfirmedCreate?.asked));
    }
  }
}

const LOST_RECORD = { createRequestedAt: BEFORE_MOVE };

/**
 * Whether `clusterctl move` may have dropped the record of a create request from status. That is so if the object is
 * being deleted, names its AWS account in an annotation and not in status, and its deletion began after the move. If
 * the deletion began before the move, the controller had already read EKS and knew the result of every create request.
 */
const isCreateRecordLost = (object: AWSFargateProfile): boolean =>
  isDeleting(object) &&
  object.status?.account === undefined &&
  object.metadata.annotations?.[DELETION_REQUESTED_ANNOTATION] === undefined &&
  locationOf(object).kind === 'known';
