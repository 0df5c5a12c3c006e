import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { DELETION_REQUESTED_ANNOTATION } from '../../api/v1beta2/index.ts';
import type { Clock, Ms } from '../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../pkg/kube/paths.ts';
import type { ObjectKey } from '../../pkg/kube/types.ts';
import type { Inputs } from './inputs.ts';
import type { Memory } from './memory.ts';
import {
  BEFORE_MOVE,
  BLANK,
  endedBy,
  isCreateUnseen,
  rememberAnswered,
  rememberSuccess,
  rememberUnseen,
} from './memory.ts';
import { profileNameOf } from './names.ts';
import type { Seen } from './pass.ts';
import type { Reason, SiblingNews } from './reasons.ts';
import { isEndedBySibling } from './reasons.ts';
import { isDeleting } from '../standing.ts';
import { whereaboutsOf } from './whereabouts.ts';

interface Kept {
  readonly uid: string;
  readonly memory: Memory;
}

/** The memories of all objects: what a pass leaves to the next. Another object of the same name has none of it. */
export class Memories {
  private readonly clock: Pick<Clock, 'monotonic'>;
  /** By key: an object is known by that before it is known which one it is. */
  private readonly memories = new Map<string, Kept>();
  /** The uid of the object whose profiles a pass has seen, by key. */
  private readonly seen = new Map<string, string>();
  /** Since when (monotonic) an object's Cluster was not there. */
  private readonly vanished = new Map<string, Ms>();
  /** How long EKS took for the last change that was seen to its end, by region and by what it was. */
  private readonly lifecycles = new Map<string, Ms>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.clock = clock;
  }

  of(object: AWSFargateProfile): Memory {
    const kept = this.memories.get(keyText(keyOf(object)));
    return kept?.uid === object.metadata.uid ? kept.memory : BLANK;
  }

  keep(object: AWSFargateProfile, memory: Memory): void {
    this.memories.set(keyText(keyOf(object)), { uid: object.metadata.uid, memory });
  }

  forget(key: ObjectKey): void {
    this.vanished.delete(keyText(key));
    this.seen.delete(keyText(key));
    this.memories.delete(keyText(key));
  }

  /** Another object of the cluster has gone or changed. True if this one waited for that: then it may try at once. */
  awaitsSibling(key: ObjectKey, news: SiblingNews): boolean {
    const kept = this.memories.get(keyText(key));
    if (kept?.memory.waiting === undefined || !isEndedBySibling(kept.memory.waiting.what, news)) return false;
    this.memories.set(keyText(key), { ...kept, memory: rememberSuccess(kept.memory) });
    return true;
  }

  /** For how long the object's Cluster has not been there; `undefined`: it is there, or nobody knows. */
  clusterGoneFor({ object, cluster }: Pick<Inputs, 'object' | 'cluster'>): Ms | undefined {
    const key = keyText(keyOf(object));
    if (cluster.kind !== 'absent') {
      if (cluster.kind === 'found') this.vanished.delete(key);
      return undefined;
    }
    const now = this.clock.monotonic();
    const since = this.vanished.get(key) ?? now;
    this.vanished.set(key, since);
    return now - since;
  }

  /** Whether "not found" does not prove yet that there is no profile. */
  isCreateUnseen(object: AWSFargateProfile): boolean {
    const now = this.clock.monotonic();
    const memory = rememberUnseen(this.of(object), isRecordLost(object) ? LOST : object.status, now);
    this.keep(object, memory);
    return isCreateUnseen(memory, now);
  }

  /** The object says for the first time where it is: until then nothing was begun, and what is begun from now on is on record. */
  noteBegin(object: AWSFargateProfile): void {
    this.keep(object, rememberAnswered(this.of(object), LOST.createRequestedAt));
  }

  /** Whether this process has looked at the object's profiles. */
  hasSeen({ metadata }: AWSFargateProfile): boolean {
    return this.seen.get(keyText(keyOf({ metadata }))) === metadata.uid;
  }

  /** How long EKS takes as a rule for what the object waits for, if that is known. A wrong guess costs lateness alone. */
  usual(object: AWSFargateProfile, what: Reason): Ms | undefined {
    return this.lifecycles.get(lifecycleOf(object, what));
  }

  /** What a look at the object's profiles tells, before anything else is looked at. */
  noteSeen(object: AWSFargateProfile, seen: Seen): void {
    this.seen.set(keyText(keyOf(object)), object.metadata.uid);
    const ended = endedBy(this.of(object), seen, this.clock.monotonic());
    if (ended !== undefined) this.lifecycles.set(lifecycleOf(object, ended.what), ended.took);
    // Whoever's it is: with the name taken, the profile that was asked for is there or cannot come any more.
    const { profileName = profileNameOf(object), createRequestedAt } = object.status ?? {};
    const isSeen = seen.profiles.some(({ name, found }) => name === profileName && found !== undefined);
    if (isSeen)
      this.keep(object, rememberAnswered(this.of(object), createRequestedAt ?? this.of(object).unseen?.asked));
  }
}

const lifecycleOf = ({ status }: AWSFargateProfile, what: Reason): string => `${status?.region} ${what}`;

const LOST = { createRequestedAt: BEFORE_MOVE };

/**
 * A move has dropped status, and the object is to go before anybody has looked: a create may have been sent right before.
 * One whose deletion had begun already was looked at; and of one that was begun here it is remembered that none was sent.
 */
const isRecordLost = (object: AWSFargateProfile): boolean =>
  isDeleting(object) &&
  object.status?.account === undefined &&
  object.metadata.annotations?.[DELETION_REQUESTED_ANNOTATION] === undefined &&
  whereaboutsOf(object).kind === 'somewhere';
