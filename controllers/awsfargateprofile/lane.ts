import { isRight } from 'fp-ts/lib/Either.js';
import type { TypedStoreReader } from 'controller-runtime/cache';
import { keyOf, keyText, type ObjectKey } from 'controller-runtime/client';
import { Lru } from 'controller-runtime/collections';
import type { Clock, Ms } from 'controller-runtime/env';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { type ClusterIndex, clusterIndexOf } from '../shared/caches.ts';
import { noteOf } from '../shared/note.ts';
import { hasFinalizer, hasPausedAnnotation, isDeleting, isMoving } from '../shared/object-state.ts';
import { currentProfileNameOf } from '../shared/profile-names.ts';
import { hasChangeInProgress } from './model/steady-state.ts';
import { ACTIVE } from './model/profile-status.ts';

// EKS creates or deletes one Fargate profile of a cluster at a time. The lane of an EKS cluster avoids the calls that
// EKS would refuse. It decides nothing that safety needs: EKS's refusal is the authority.

/** A change that EKS is making. */
interface InFlight {
  readonly profile: string;
  /** Completes the sentence "Fargate profile x is …". */
  readonly doing: string;
  /** The key of the object whose passes watch the change; `undefined` for the change of a stranger. */
  readonly by: string | undefined;
  readonly seenAt: Ms;
}

/** Where the cache finds the objects of a cluster. Two regions or accounts may have EKS clusters of the same name. */
interface Place extends ClusterIndex {
  readonly regionAndIdentity: string;
}

interface Lane {
  /** The change that a running pass sends, and the key of its object. */
  readonly turn: { readonly profile: string; readonly doing: string; readonly by: string } | undefined;
  readonly inFlight: InFlight | undefined;
  /** EKS has said `because` to a change, so no change is sent before this time. */
  readonly closed: { readonly until: Ms; readonly because: string };
  /** The clusters whose objects have waited here. Objects of several Clusters and namespaces may name one EKS cluster. */
  readonly clusters: ReadonlyMap<string, Place>;
}

/** Why a change of a profile has to wait. */
export type LaneWait =
  | { readonly kind: 'wait'; readonly ahead: string; readonly doing: string; readonly isForeign: boolean }
  | { readonly kind: 'closed'; readonly remaining: Ms; readonly because: string };

/** A change that was not seen again for this long does not count, because nobody may be watching it. */
const SEEN_FOR: Ms = 35_000;
/** The number of lanes that are kept; the one that was used longest ago is forgotten, which costs one refused call. */
const MOST_LANES = 10_000;
const FREE: Lane = { turn: undefined, inFlight: undefined, closed: { until: 0, because: '' }, clusters: new Map() };

type NamingCluster = Pick<AWSFargateProfile, 'metadata' | 'spec'>;

export interface LanesOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly profiles: Pick<TypedStoreReader<AWSFargateProfile>, 'byIndex' | 'lookup'>;
  /** Whether the last pass of the object stopped for something other than its turn, so that it does not want one. */
  readonly isStoppedOtherwise: (object: AWSFargateProfile) => boolean;
  /** Enqueues an object whose turn may have come. A lost call costs 30 s, after which each waiter looks for itself. */
  readonly wake: (key: ObjectKey, place: 'first' | 'second') => void;
  /** The object was the first, and another one goes before it now. */
  readonly overtaken: (key: ObjectKey) => void;
}

export class Lanes {
  private readonly options: LanesOptions;
  private readonly lanes = new Lru<Lane>({ maxEntries: MOST_LANES });
  /** The objects of each cluster that want a turn, in their order, as {@link refresh} last saw them. */
  private readonly orders = new Lru<readonly AWSFargateProfile[]>({ maxEntries: MOST_LANES });
  /** The objects whose pass goes on and was not told to wait. They need not be woken. */
  private readonly going = new Set<string>();
  /** By object: the lane in which its passes last saw a change in flight. */
  private readonly laneOfChange = new Lru<string>({ maxEntries: MOST_LANES });

  constructor(options: LanesOptions) {
    this.options = options;
  }

  /**
   * Fills a lane of which this process knows nothing, for example after a start, with the changes that EKS may be making.
   * They count as those of strangers until a pass of their objects has seen them.
   */
  seed(lane: string, findChanges: () => readonly Pick<InFlight, 'profile' | 'doing'>[]): void {
    if (this.lanes.peek(lane) !== undefined) return;
    this.lanes.set(lane, FREE);
    for (const { profile, doing } of findChanges()) this.saw(lane, profile, doing);
  }

  /**
   * Lets the first object of a cluster go, the second until it has prepared its role, and each object that wants no turn. An object that its last pass stopped for something else looks whether that is over.
   * {@link leave} must end the pass of an object that goes on.
   */
  findAhead(lane: string, object: AWSFargateProfile): LaneWait | undefined {
    const [first, second] = this.orderOf(object) ?? [];
    const busy = this.findBusy(lane, object);
    const isFirst = first === undefined || isSame(first, object);
    const mayPrepare = (isFirst || isSame(second, object)) && hasToPrepare(object);
    // The first asks EKS about the change of a stranger, and its pass wakes those behind it.
    const mayChange = isFirst && (busy === undefined || (busy.kind === 'wait' && busy.isForeign));
    if (!mayPrepare && !mayChange && this.isEligible(object) && !this.isInFlight(lane, object)) {
      const wait = busy ?? (first === undefined ? undefined : waitFor(first));
      if (wait !== undefined)
        return this.joined(lane, object, wait.kind === 'wait' ? { ...wait, isForeign: false } : wait);
    }
    this.going.add(idOf(object));
    return undefined;
  }

  leave(object: AWSFargateProfile): void {
    this.going.delete(idOf(object));
  }

  /**
   * Gives the object the turn, or returns why it has to wait. {@link release} must end each turn. Those that wait
   * report `doing`, and look again only after seconds: so `doing` has to be true before the request and while EKS makes the change.
   */
  take(lane: string, object: AWSFargateProfile, profile: string, doing: string): LaneWait | undefined {
    const [first] = this.orderOf(object) ?? [];
    const isBehind = first !== undefined && wantsTurn(object) && isBefore(first, object);
    const wait = this.findBusy(lane, object, profile) ?? (isBehind ? waitFor(first) : undefined);
    if (wait !== undefined) return this.joined(lane, object, wait);
    this.update(lane, { turn: { profile, doing, by: idOf(object) } });
    return undefined;
  }

  release(lane: string, object: AWSFargateProfile): void {
    if (this.get(lane).turn?.by !== idOf(object)) return;
    this.update(lane, { turn: undefined });
    this.wakeIfFree(lane, object);
  }

  /** `by` is the object whose own profile it is. */
  saw(lane: string, profile: string, doing: string, by?: Pick<AWSFargateProfile, 'metadata'>): void {
    const { inFlight: known } = this.get(lane);
    const owner = by === undefined ? (known?.profile === profile ? known.by : undefined) : idOf(by);
    this.update(lane, { inFlight: { profile, doing, by: owner, seenAt: this.options.clock.monotonic() } });
  }

  /** A pass of the object has seen that EKS does not change the profile. */
  settle(lane: string, profile: string, object: AWSFargateProfile): void {
    if (this.get(lane).inFlight?.profile !== profile) return;
    this.update(lane, { inFlight: undefined });
    this.wakeIfFree(lane, object);
  }

  /** A survey of the EKS cluster may be older than what the lane knows, so it only fills an empty lane. */
  sawForeign(lane: string, profile: string, doing: string): void {
    if (this.get(lane).inFlight === undefined) this.saw(lane, profile, doing);
  }

  close(lane: string, span: Ms, because: string): void {
    const until = Math.max(this.get(lane).closed.until, this.options.clock.monotonic() + span);
    this.update(lane, { closed: { until, because } });
  }

  /** No pass watches the changes of this object any more, for example because it is paused or gone. */
  abandon(key: ObjectKey): void {
    for (const [lane, { inFlight }] of this.lanes.entries()) {
      if (inFlight?.by !== keyText(key)) continue;
      this.update(lane, { inFlight: { ...inFlight, by: undefined } });
      this.wakeFirsts(lane);
    }
  }

  /** To be called after a change of the object or of its waiting. */
  refresh(object: NamingCluster): void {
    const place = placeOf(object);
    const known = place && this.orders.peek(textOf(place));
    const before = place && this.orderAt(place);
    const lookup = this.options.profiles.lookup(keyOf(object));
    if (place === undefined || before === undefined || lookup.kind === 'unknown') return;
    const current = lookup.kind === 'found' && isRight(lookup.decoded) ? lookup.decoded.right : undefined;
    // The objects of a cluster are in one namespace.
    const others = before.filter(({ metadata }) => metadata.name !== object.metadata.name);
    const isWaiting = current !== undefined && this.isEligible(current);
    const after = isWaiting ? insert(others, current) : others;
    this.orders.set(textOf(place), after);
    const [first, second] = after;
    // If the order was not known, an object that waits counts as new, which lets no other object go. Any other object may
    // have been the first until now.
    const heads = (known ?? (isWaiting ? others : [])).slice(0, 2);
    const wasHead = (one: AWSFargateProfile): boolean => heads.some((each) => isSame(one, each));
    // The former second has done what it can while EKS makes the change of this object, and the end of the change wakes it.
    const canGo = this.get(this.laneOfChange.peek(idOf(object)) ?? '').inFlight?.by !== idOf(object);
    if (first !== undefined && !isSame(first, heads[0]) && (canGo || !wasHead(first))) this.wake(first, 'first');
    if (second !== undefined && !wasHead(second)) this.wake(second, 'second');
    if (second !== undefined && isSame(second, heads[0])) this.options.overtaken(keyOf(second));
  }

  /** After the end of a change, wakes the objects that may go now. The pass of `object` itself goes on anyway. */
  private wakeIfFree(lane: string, object: AWSFargateProfile): void {
    const { turn, inFlight } = this.get(lane);
    if (turn === undefined && inFlight === undefined) this.wakeFirsts(lane, object);
  }

  private wakeFirsts(lane: string, except?: AWSFargateProfile): void {
    const firsts = [...this.get(lane).clusters].map(
      ([text, place]) => [text, place, this.orderAt(place)?.[0]] as const,
    );
    const waiting = firsts.filter(([, , first]) => first !== undefined);
    this.update(lane, { clusters: new Map(waiting.map(([text, place]) => [text, place])) });
    for (const [, , first] of waiting) if (first !== undefined && !isSame(first, except)) this.wake(first, 'first');
  }

  private wake(object: AWSFargateProfile, place: 'first' | 'second'): void {
    if (!this.going.has(idOf(object))) this.options.wake(keyOf(object), place);
  }

  /** `profile` is the one that the object would change. */
  private findBusy(lane: string, object: AWSFargateProfile, profile?: string): LaneWait | undefined {
    const now = this.options.clock.monotonic();
    const { turn, inFlight, closed } = this.get(lane);
    if (closed.until > now) return { kind: 'closed', remaining: closed.until - now, because: closed.because };
    if (turn !== undefined && turn.by !== idOf(object))
      return { kind: 'wait', ahead: turn.profile, doing: turn.doing, isForeign: false };
    if (inFlight === undefined || inFlight.profile === profile || now - inFlight.seenAt >= SEEN_FOR) return undefined;
    const { profile: ahead, doing, by } = inFlight;
    return { kind: 'wait', ahead, doing, isForeign: by === undefined };
  }

  private joined(lane: string, object: AWSFargateProfile, wait: LaneWait): LaneWait {
    this.going.delete(idOf(object));
    const { clusters } = this.get(lane);
    const place = placeOf(object);
    if (place !== undefined && !clusters.has(textOf(place)))
      this.update(lane, { clusters: new Map([...clusters, [textOf(place), place]]) });
    return wait;
  }

  private isInFlight(lane: string, object: AWSFargateProfile): boolean {
    return this.get(lane).inFlight?.by === idOf(object) || hasChangeInProgress(object);
  }

  private isStillEligible(object: AWSFargateProfile): boolean {
    const lookup = this.options.profiles.lookup(keyOf(object));
    if (lookup.kind === 'unknown') return true;
    if (lookup.kind === 'absent' || !isRight(lookup.decoded)) return false;
    const current = lookup.decoded.right;
    return isSame(current, object) && this.isEligible(current);
  }

  private isEligible(object: AWSFargateProfile): boolean {
    return wantsTurn(object) && !this.options.isStoppedOtherwise(object);
  }

  private orderOf(object: NamingCluster): readonly AWSFargateProfile[] | undefined {
    const place = placeOf(object);
    return place && this.orderAt(place);
  }

  /** `undefined` before the objects are listed. */
  private orderAt(place: Place): readonly AWSFargateProfile[] | undefined {
    const known = this.orders.get(textOf(place));
    if (known !== undefined) return this.withEligibleFirsts(place, known);
    const listing = this.options.profiles.byIndex(place.index, place.value);
    if (listing.kind !== 'listed') return undefined;
    const order = listing.entries
      .flatMap(({ decoded }) => (isRight(decoded) ? [decoded.right] : []))
      .filter((each) => placeOf(each)?.regionAndIdentity === place.regionAndIdentity && this.isEligible(each))
      .toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
    this.orders.set(textOf(place), order);
    return order;
  }

  /** An object that left without a word, or that was stopped since, must not hold up those behind it. */
  private withEligibleFirsts(place: Place, known: readonly AWSFargateProfile[]): readonly AWSFargateProfile[] {
    const firsts: AWSFargateProfile[] = [];
    let looked = 0;
    for (; firsts.length < 2 && looked < known.length; looked++) {
      const each = known[looked];
      if (each !== undefined && this.isStillEligible(each)) firsts.push(each);
    }
    if (looked === firsts.length) return known;
    const order = [...firsts, ...known.slice(looked)];
    this.orders.set(textOf(place), order);
    return order;
  }

  private get(lane: string): Lane {
    return this.lanes.peek(lane) ?? FREE;
  }

  private update(lane: string, change: Partial<Lane>): void {
    const after = { ...this.get(lane), ...change };
    if (after.inFlight?.by !== undefined) this.laneOfChange.set(after.inFlight.by, lane);
    this.lanes.set(lane, after);
  }
}

/**
 * A deleted object with a profile in the note, one that was never provisioned, or one whose profile does not work any more or
 * is to be replaced.
 */
function wantsTurn(object: AWSFargateProfile): boolean {
  const { profileStatus, profileARN, initialization } = object.status ?? {};
  if (hasPausedAnnotation(object) || isMoving(object)) return false;
  const { profiles } = noteOf(object);
  const isUnfinished = profiles.some(({ served }) => served !== true);
  if (!isDeleting(object)) return initialization?.provisioned !== true || profileStatus !== ACTIVE || isUnfinished;
  return hasFinalizer(object) && (profiles.length > 0 || profileARN !== undefined);
}

/** The second in the lane may make its role while EKS changes the profile of the first. */
const hasToPrepare = (object: AWSFargateProfile): boolean =>
  !isDeleting(object) && noteOf(object).roles.every(({ id }) => id === undefined);

/** Deletions go first, then older objects, then names in their order. */
function isBefore(one: AWSFargateProfile, other: AWSFargateProfile): boolean {
  if (isDeleting(one) !== isDeleting(other)) return isDeleting(one);
  const [a, b] = [one.metadata.creationTimestamp ?? '', other.metadata.creationTimestamp ?? ''];
  return a === b ? one.metadata.name < other.metadata.name : a < b;
}

/** Many objects may name one cluster, so each change of one of them costs few comparisons. */
function insert(order: readonly AWSFargateProfile[], object: AWSFargateProfile): readonly AWSFargateProfile[] {
  let [first, end] = [0, order.length];
  while (first < end) {
    const middle = Math.floor((first + end) / 2);
    const other = order[middle];
    if (other !== undefined && isBefore(other, object)) first = middle + 1;
    else end = middle;
  }
  return order.toSpliced(first, 0, object);
}

const waitFor = (first: AWSFargateProfile): LaneWait => ({
  kind: 'wait',
  ahead: currentProfileNameOf(first),
  doing: 'next in turn',
  isForeign: false,
});

const isSame = (one: AWSFargateProfile | undefined, other: AWSFargateProfile | undefined): boolean =>
  one !== undefined && one.metadata.uid === other?.metadata.uid;

const idOf = (object: Pick<AWSFargateProfile, 'metadata'>): string => keyText(keyOf(object));

const textOf = ({ index, value, regionAndIdentity }: Place): string => `${index} ${value} ${regionAndIdentity}`;

function placeOf(object: NamingCluster): Place | undefined {
  const place = clusterIndexOf(object);
  const { region = '', identityRef } = object.spec.eksCluster ?? {};
  return place && { ...place, regionAndIdentity: [region, identityRef?.kind, identityRef?.name].join('/') };
}
