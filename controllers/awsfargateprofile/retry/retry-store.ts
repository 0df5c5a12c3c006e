import {
  type AWSFargateProfile,
  type AWSFargateProfileStatus,
  DELETION_REQUESTED_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import { isDeleting } from '../../shared/object-state.ts';
import type { ReconcileInputs } from '../goal/inputs.ts';
import { locationOf } from '../model/location.ts';
import { profileNameOf } from '../../shared/profile-names.ts';
import type { Observed } from '../model/observed-state.ts';
import { requestedNameOf, unseenReplacement } from '../model/replacement.ts';
import { type SiblingChange, isEndedBySibling } from '../reasons/reasons.ts';
import { BEFORE_MOVE, isCreateUnconfirmed, withConfirmedCreate, withUnconfirmedCreate } from './create-visibility.ts';
import { type RetryState, NO_RETRY_STATE, withSuccess } from './retry-state.ts';

interface Entry {
  readonly uid: string;
  readonly state: RetryState;
}

export interface RetryHandle {
  readonly state: RetryState;
  update(change: (state: RetryState) => RetryState): RetryState;
}

/** Each change applies a function to the newest state, so that a change by a watch event during a pass is not lost. */
export class RetryStore {
  private readonly clock: Pick<Clock, 'monotonic'>;
  private readonly entries = new Map<string, Entry>();
  /** By namespace: the names of the objects whose wait a change of another object may end. */
  private readonly siblingWaits = new Map<string, Set<string>>();
  /** By object: since when its Cluster does not exist. */
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
    this.clusterGoneSince.delete(keyText(key));
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

  endSiblingWait(key: ObjectKey, change: SiblingChange): boolean {
    const entry = this.entries.get(keyText(key));
    if (entry?.state.waiting === undefined || !isEndedBySibling(entry.state.waiting.name, change)) return false;
    this.set(key, { ...entry, state: withSuccess(entry.state) });
    return true;
  }

  /** `undefined` if the Cluster exists, if the object has no Cluster, or if the cache cannot tell. */
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

  isCreateUnconfirmed(object: AWSFargateProfile): boolean {
    const now = this.clock.monotonic();
    const record = isCreateRecordLost(object) ? LOST_RECORD : createRecordOf(object);
    const state = this.update(object, (before) => withUnconfirmedCreate(before, record, now));
    // A live object makes its profile again, and EKS then tells that the name is taken.
    const isHarmless = state.unconfirmedCreate?.asked === BEFORE_MOVE && !isDeleting(object);
    return isCreateUnconfirmed(state, now) && !isHarmless;
  }

  /** The location is recorded for the first time, before any create request. */
  recordNoCreateSent(object: AWSFargateProfile): void {
    this.update(object, (state) => withConfirmedCreate(state, LOST_RECORD.createRequestedAt));
  }

  recordObservation(object: AWSFargateProfile, observed: Pick<Observed, 'profiles'>): void {
    // Even if the profile belongs to another owner: an EKS cluster has at most one profile with a name.
    const { createRequestedAt } = object.status ?? {};
    const requested = requestedNameOf(object) ?? profileNameOf(object);
    const isNameTaken = observed.profiles.some(({ name, found }) => name === requested && found !== undefined);
    if (isNameTaken) {
      this.update(object, (state) => withConfirmedCreate(state, createRequestedAt ?? state.unconfirmedCreate?.asked));
    }
  }
}

/** During a replacement, the ARN in status is that of another profile than the requested one. */
function createRecordOf(object: AWSFargateProfile): Pick<AWSFargateProfileStatus, 'createRequestedAt' | 'profileARN'> {
  const { profileARN, ...record } = object.status ?? {};
  return unseenReplacement(object) !== undefined || profileARN === undefined ? record : { ...record, profileARN };
}

const LOST_RECORD = { createRequestedAt: BEFORE_MOVE };

/**
 * By `clusterctl move`, from the status. If the deletion began before the move, the controller had already read EKS and
 * knew the result of every create request.
 */
const isCreateRecordLost = (object: AWSFargateProfile): boolean =>
  object.status?.account === undefined &&
  object.status?.createRequestedAt === undefined &&
  object.metadata.annotations?.[DELETION_REQUESTED_ANNOTATION] === undefined &&
  locationOf(object).kind === 'known';
