import { isRight } from 'fp-ts/lib/Either.js';
import type { Change } from 'controller-runtime/cache';
import { keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import { Lru } from 'controller-runtime/collections';
import type { Clock, Ms } from 'controller-runtime/env';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../pkg/cloud/index.ts';
import { type Caches, BY_TURN, turnGroupOf, turnGroupOfLocation } from '../shared/caches.ts';
import { recordOf } from '../shared/record.ts';
import { hasFinalizer, isDeleting } from '../shared/object-state.ts';
import { currentProfileNameOf } from '../shared/profile-names.ts';
import { turnOrderOf, wantsTurn } from '../shared/turn-order.ts';
import type { RetryStore } from './retry-state.ts';
import { describeTransit } from './model/profile-status.ts';
import { hasChangeInProgress } from './model/at-rest.ts';

// EKS creates or deletes one Fargate profile of a cluster at a time. Each EKS cluster has a queue of the objects that
// want such a change, which avoids calls that EKS would refuse. If a queue is wrong, EKS refuses such a call, and nothing
// else happens. A queue stores what EKS has answered, so it is empty after a start. The order of the objects is not
// stored: it is computed from the caches and from the retry state (retry-state.ts) when a reconcile needs it.

interface InFlight {
  readonly profile: string;
  /** Completes the sentence "Fargate profile x is …". */
  readonly doing: string;
  /** The key of the object whose reconciles see when the change ends. `undefined` if no such object is known. */
  readonly by: string | undefined;
  readonly seenAt: Ms;
}

interface ClusterQueue {
  /** The change that a running reconcile is about to send, or has sent. `by` is the key of its object. */
  readonly turn: { readonly profile: string; readonly doing: string; readonly by: string } | undefined;
  readonly inFlight: InFlight | undefined;
  /** No change is sent before `until`, because EKS has refused an earlier change with the message `because`. */
  readonly closed: { readonly until: Ms; readonly because: string };
}

export type ClusterQueueWait =
  | { readonly kind: 'wait'; readonly ahead: string; readonly doing: string; readonly isForeign: boolean }
  | { readonly kind: 'closed'; readonly remaining: Ms; readonly because: string };

/**
 * A change that no reconcile has seen for this long does not count anymore, because perhaps no reconcile watches it.
 */
const SEEN_FOR: Ms = 35_000;
/** Beyond this number, the least recently used queue is dropped, which may cost one call that EKS refuses. */
const MOST_QUEUES = 10_000;
/**
 * How many objects of an EKS cluster are searched for the first two that no problem stops. If problems stop all of
 * these, the remaining objects do not wait for each other, and EKS refuses some of their calls. A cluster has at most
 * ten profiles, unless AWS has raised the quota.
 */
const MOST_SEEN = 30;
const FREE: ClusterQueue = { turn: undefined, inFlight: undefined, closed: { until: 0, because: '' } };

export interface ClusterQueuesOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly caches: Pick<Caches, 'profiles' | 'typed'>;
  readonly retryStore: Pick<RetryStore, 'isStoppedOtherwise'>;
  /** Enqueues an object whose turn may have come. Without this call, the object is reconciled up to 30 s later. */
  readonly wake: (key: ObjectKey, place: 'first' | 'second') => void;
}

export class ClusterQueues {
  private readonly options: ClusterQueuesOptions;
  private readonly queues = new Lru<ClusterQueue>({ maxEntries: MOST_QUEUES });
  /** The keys of objects whose running reconcile does not have to wait. They need not be woken. */
  private readonly reconciling = new Set<string>();

  constructor(options: ClusterQueuesOptions) {
    this.options = options;
  }

  /**
   * Returns why the object has to wait. `undefined` if the object
   * - does not want a turn, or EKS is already changing its profile;
   * - was stopped by a problem in its last reconcile: the next one finds out whether the problem is over;
   * - is the first or second of its cluster and has no role yet, which it can create without a turn;
   * - is the first of its cluster, unless the queue is closed or a change of this manager's objects is in progress.
   */
  findAhead(queueKey: string, object: AWSFargateProfile): ClusterQueueWait | undefined {
    if (!wantsTurn(object) || this.isStoppedOtherwise(object) || this.isInFlight(queueKey, object)) return undefined;
    const [first = object, second] = this.firstTwo(turnGroupOf(object));
    const isFirst = isSame(first, object);
    if ((isFirst || isSame(second, object)) && hasToPrepare(object)) return undefined;
    const busy = this.findBusy(queueKey, object);
    // Only the first object asks EKS whether another client's change has ended. It then wakes the objects behind it.
    if (isFirst && (busy === undefined || (busy.kind === 'wait' && busy.isForeign))) return undefined;
    const wait = busy ?? waitFor(first);
    return wait.kind === 'wait' ? { ...wait, isForeign: false } : wait;
  }

  /** Called if {@link findAhead} lets the reconcile continue. {@link endReconcile} must be called at its end. */
  beginReconcile(object: AWSFargateProfile): void {
    this.reconciling.add(idOf(object));
  }

  endReconcile(object: AWSFargateProfile): void {
    this.reconciling.delete(idOf(object));
  }

  /**
   * Gives the object the turn, or returns why it has to wait. {@link release} must end each turn. The conditions of
   * waiting objects show `doing` for seconds, so it has to be true both before the request and while EKS makes the
   * change.
   */
  take(queueKey: string, object: AWSFargateProfile, profile: string, doing: string): ClusterQueueWait | undefined {
    const [first] = wantsTurn(object) ? this.firstTwo(turnGroupOf(object)) : [];
    const isBehind = first !== undefined && isBefore(first, object);
    const wait = this.findBusy(queueKey, object, profile) ?? (isBehind ? waitFor(first) : undefined);
    if (wait !== undefined) {
      this.endReconcile(object);
      return wait;
    }
    this.update(queueKey, { turn: { profile, doing, by: idOf(object) } });
    return undefined;
  }

  release(queueKey: string, object: AWSFargateProfile): void {
    if (this.get(queueKey).turn?.by !== idOf(object)) return;
    this.update(queueKey, { turn: undefined });
    this.wakeIfFree(queueKey, object);
  }

  /** Records that EKS is changing `profile`. `by` is the object that owns the profile, if this is known. */
  saw(queueKey: string, profile: string, doing: string, by?: Pick<AWSFargateProfile, 'metadata'>): void {
    const { inFlight: known } = this.get(queueKey);
    const owner = by === undefined ? (known?.profile === profile ? known.by : undefined) : idOf(by);
    this.update(queueKey, { inFlight: { profile, doing, by: owner, seenAt: this.options.clock.monotonic() } });
  }

  /** Called when a reconcile of the object has seen that EKS is not changing the profile. */
  sawNoChange(queueKey: string, profile: string, object: AWSFargateProfile): void {
    if (this.get(queueKey).inFlight?.profile !== profile) return;
    this.update(queueKey, { inFlight: undefined });
    this.wakeIfFree(queueKey, object);
  }

  /** Updates the queue after a reconcile has read `profiles` from EKS. `own` are the names of the object's profiles. */
  compare(
    queueKey: string,
    object: AWSFargateProfile,
    profiles: readonly Pick<FargateProfile, 'name' | 'status'>[],
    own: readonly string[],
  ): void {
    for (const { name, status } of profiles) {
      const doing = describeTransit(status);
      if (doing === undefined) continue;
      if (own.includes(name)) this.saw(queueKey, name, doing, object);
      // `profiles` may be older than what the queue contains, so another object's profile only fills an empty queue.
      else if (this.get(queueKey).inFlight === undefined) this.saw(queueKey, name, doing);
    }
    for (const name of own)
      if (describeTransit(profiles.find((each) => each.name === name)?.status) === undefined)
        this.sawNoChange(queueKey, name, object);
  }

  close(queueKey: string, span: Ms, because: string): void {
    const until = Math.max(this.get(queueKey).closed.until, this.options.clock.monotonic() + span);
    this.update(queueKey, { closed: { until, because } });
  }

  /** Called when no reconcile watches this object's changes anymore, for example because it is paused or gone. */
  abandon(key: ObjectKey): void {
    for (const [queueKey, { inFlight }] of this.queues.entries()) {
      if (inFlight?.by !== keyText(key)) continue;
      this.update(queueKey, { inFlight: { ...inFlight, by: undefined } });
      const lookup = this.options.caches.profiles.lookup(key);
      const object = lookup.kind === 'found' ? this.decode(lookup.object) : undefined;
      this.wakeFirsts([object && turnGroupOf(object), turnGroupOfLocation(queueKey)]);
    }
  }

  /** Wakes the objects whose place in the order may have changed because an object has changed in the cache. */
  refresh(change: Change): void {
    const before = change.type === 'added' ? undefined : change.type === 'updated' ? change.previous : change.object;
    const after = change.type === 'deleted' ? undefined : change.object;
    const [left, joined] = [before, after].map((each) => (each === undefined ? undefined : this.decode(each)));
    if (left !== undefined && joined !== undefined && turnPlaceOf(left) === turnPlaceOf(joined)) return;
    if (left !== undefined && !this.isStoppedOtherwise(left)) this.wakeBehind(left, joined);
    if (joined !== undefined && !this.isStoppedOtherwise(joined)) this.wakeAhead(joined);
  }

  /** Wakes the objects whose place in the order may have changed because a problem began or ceased to stop `object`. */
  reorder(object: AWSFargateProfile): void {
    if (this.isStoppedOtherwise(object)) this.wakeBehind(object, object);
    else this.wakeAhead(object);
  }

  /**
   * Wakes the objects that have moved up because an object has left its place. `before` and `after` are the versions of
   * that object. If EKS is making that object's change, the new first object is woken only when the change ends.
   */
  private wakeBehind(before: AWSFargateProfile, after: AWSFargateProfile | undefined): void {
    if (!wantsTurn(before)) return;
    const isBusy = after !== undefined && hasFinalizer(after) && hasChangeInProgress(after);
    this.firstTwo(turnGroupOf(before)).forEach((each, index) => {
      if (isBefore(before, each) && !(index === 0 && isBusy)) this.wake(each, index);
    });
  }

  /** Wakes the object if it is the first or second now. */
  private wakeAhead(object: AWSFargateProfile): void {
    if (!wantsTurn(object)) return;
    const index = this.firstTwo(turnGroupOf(object)).findIndex((each) => isSame(each, object));
    if (index !== -1) this.wake(object, index);
  }

  /** Wakes the first two objects if the queue is free. Omits `object`, because its reconcile is running anyway. */
  private wakeIfFree(queueKey: string, object: AWSFargateProfile): void {
    const { turn, inFlight } = this.get(queueKey);
    if (turn === undefined && inFlight === undefined)
      this.wakeFirsts([turnGroupOf(object), turnGroupOfLocation(queueKey)], object);
  }

  private wakeFirsts(groups: readonly (string | undefined)[], except?: AWSFargateProfile): void {
    const woken = new Set<string>();
    for (const group of groups)
      this.firstTwo(group).forEach((each, index) => {
        if (isSame(each, except) || woken.has(idOf(each))) return;
        woken.add(idOf(each));
        this.wake(each, index);
      });
  }

  private wake(object: AWSFargateProfile, index: number): void {
    if (!this.reconciling.has(idOf(object))) this.options.wake(keyOf(object), index === 0 ? 'first' : 'second');
  }

  /** Returns the change for which the object has to wait. `profile` is the profile that the object would change. */
  private findBusy(queueKey: string, object: AWSFargateProfile, profile?: string): ClusterQueueWait | undefined {
    const now = this.options.clock.monotonic();
    const { turn, inFlight, closed } = this.get(queueKey);
    if (closed.until > now) return { kind: 'closed', remaining: closed.until - now, because: closed.because };
    if (turn !== undefined && turn.by !== idOf(object))
      return { kind: 'wait', ahead: turn.profile, doing: turn.doing, isForeign: false };
    if (inFlight === undefined || inFlight.profile === profile || now - inFlight.seenAt >= SEEN_FOR) return undefined;
    const { profile: ahead, doing, by } = inFlight;
    return { kind: 'wait', ahead, doing, isForeign: by === undefined };
  }

  private isInFlight(queueKey: string, object: AWSFargateProfile): boolean {
    return this.get(queueKey).inFlight?.by === idOf(object) || hasChangeInProgress(object);
  }

  private isStoppedOtherwise(object: AWSFargateProfile): boolean {
    return this.options.retryStore.isStoppedOtherwise(object);
  }

  /**
   * Returns the first two objects in the order. Omits objects that a problem stops. Returns none before the cache has
   * listed the objects. The cache sorts the objects that want a turn, so only the first two and the stopped objects
   * before them are decoded.
   */
  private firstTwo(group: string | undefined): readonly AWSFargateProfile[] {
    const { profiles } = this.options.caches;
    const listing = group === undefined ? undefined : profiles.byIndex(BY_TURN, group);
    const firsts: AWSFargateProfile[] = [];
    for (const each of listing?.kind === 'listed' ? listing.objects.slice(0, MOST_SEEN) : []) {
      const object = this.decode(each);
      if (object !== undefined && !this.isStoppedOtherwise(object)) firsts.push(object);
      if (firsts.length === 2) break;
    }
    return firsts;
  }

  private decode(stored: KubeObject): AWSFargateProfile | undefined {
    const decoded = this.options.caches.typed.profiles.decode(stored);
    return isRight(decoded) ? decoded.right : undefined;
  }

  private get(queueKey: string): ClusterQueue {
    return this.queues.peek(queueKey) ?? FREE;
  }

  private update(queueKey: string, change: Partial<ClusterQueue>): void {
    this.queues.set(queueKey, { ...this.get(queueKey), ...change });
  }
}

/**
 * Whether the object still has to create its role, according to the record. The second object can create its role while
 * EKS changes the first object's profile.
 */
const hasToPrepare = (object: AWSFargateProfile): boolean =>
  !isDeleting(object) && recordOf(object).roles.every(({ id }) => id === undefined);

const waitFor = (first: AWSFargateProfile): ClusterQueueWait => ({
  kind: 'wait',
  ahead: currentProfileNameOf(first),
  doing: 'next in turn',
  isForeign: false,
});

const isBefore = (one: AWSFargateProfile, other: AWSFargateProfile): boolean => orderOf(one) < orderOf(other);

const orderOf = (object: AWSFargateProfile): string => turnOrderOf(object) + idOf(object);

/** Returns what decides the object's place in the order. `undefined` if the object does not want a turn. */
const turnPlaceOf = (object: AWSFargateProfile): string | undefined =>
  wantsTurn(object) ? [turnGroupOf(object), orderOf(object), object.metadata.uid].join(' ') : undefined;

const isSame = (one: AWSFargateProfile | undefined, other: AWSFargateProfile | undefined): boolean =>
  one !== undefined && one.metadata.uid === other?.metadata.uid;

const idOf = (object: Pick<AWSFargateProfile, 'metadata'>): string => keyText(keyOf(object));
