import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { ObjectKey } from '../../../pkg/kube/types.ts';
import type { ReconcileInputs } from '../goal/inputs.ts';
import { type SiblingChange, isEndedBySibling } from '../reasons/reasons.ts';
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
}
