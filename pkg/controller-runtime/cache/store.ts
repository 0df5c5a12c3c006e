import type { Logger } from '../log/logger.ts';
import { keyOf, keyText } from '../client/object-key.ts';
import { deepFreeze, jsonEqual } from '../json/patches.ts';
import { isAtLeast, isOlder } from './resource-version.ts';
import type { KubeObject, ObjectKey } from '../client/types.ts';

/** The obstacle that a user must remove before objects can be read. `resource` is e.g. `clusters.cluster.x-k8s.io`. */
export type ReadObstacle = { readonly kind: 'notServed'; readonly resource: string } | { readonly kind: 'forbidden' };

/** Why objects cannot be read. Without `obstacle`, they may become readable although no user changes anything. */
export interface Unreadable {
  readonly reason: string;
  readonly obstacle?: ReadObstacle;
}

/**
 * `unknown` means that the API server does not serve the kind, or the store has no complete list yet, so the object may
 * exist.
 */
export type Lookup =
  | { readonly kind: 'found'; readonly object: KubeObject }
  | { readonly kind: 'absent' }
  | ({ readonly kind: 'unknown' } & Unreadable);

export type Listing =
  { readonly kind: 'listed'; readonly objects: readonly KubeObject[] } | ({ readonly kind: 'unknown' } & Unreadable);

export type Change =
  | { readonly type: 'added'; readonly object: KubeObject; readonly isInInitialList: boolean }
  | { readonly type: 'updated'; readonly object: KubeObject; readonly previous: KubeObject }
  /**
   * `object` is the last state of the object that the store saw. An object that was deleted while no watch was open may
   * have had later states.
   */
  | { readonly type: 'deleted'; readonly object: KubeObject };

export type IndexFunc = (object: KubeObject) => readonly string[];

export interface StoreOptions {
  /** For messages and logs, e.g. `clusters.cluster.x-k8s.io`. */
  readonly name: string;
  readonly logger: Logger;
  readonly indexes?: Readonly<Record<string, IndexFunc>>;
  /** For each index, the text that sorts its objects. Objects with equal texts are sorted by `<namespace>/<name>`. */
  readonly orders?: Readonly<Record<string, (object: KubeObject) => string>>;
}

/**
 * Called synchronously, in the order of the changes. When a handler throws, the store logs the error and calls the next
 * one.
 */
export type ChangeHandler = (change: Change) => void;

interface PutOptions {
  readonly isInInitialList?: boolean;
  /** Replaces a stored object of the same resourceVersion if its content differs. */
  readonly evenIfSameVersion?: boolean;
  readonly evenIfOlder?: boolean;
}

/**
 * The objects of one kind as the API server last showed them, deeply frozen and without `metadata.managedFields`.
 *
 * The reflector writes the store, controllers read it. Before the first complete list, and while the API server does
 * not serve the kind, the store answers every question with `unknown`. It keeps its objects then, and does not report
 * deletions to its handlers.
 *
 * After a write, a controller can pass the API server's answer to {@link replaceWith}. The controller's next reconcile
 * then sees the result of the write, even when the watch has not sent it yet.
 */
export class Store {
  readonly name: string;
  private readonly logger: Logger;
  private readonly indexFuncs: Readonly<Record<string, IndexFunc>>;
  private readonly orders: NonNullable<StoreOptions['orders']>;
  private readonly objects = new Map<string, KubeObject>();
  private readonly all = new Group();
  /** The objects of each index, by the name of the index, then by value. */
  private readonly indexes = new Map<string, Map<string, Group>>();
  /**
   * The place of each object in each index, by object, then by the name of the index. Kept in memory because an index
   * function may be expensive.
   */
  private readonly indexed = new Map<string, ReadonlyMap<string, Place>>();
  private readonly changeHandlers = new Set<ChangeHandler>();
  private readonly syncHandlers = new Set<(synced: boolean) => void>();
  private readonly versionHandlers = new Set<() => void>();
  private newestVersion: string | undefined;
  private unreadable: Unreadable | undefined;
  private isKindServed = true;

  constructor({ name, logger, indexes = {}, orders = {} }: StoreOptions) {
    this.name = name;
    this.logger = logger;
    this.indexFuncs = indexes;
    this.orders = orders;
    this.unreadable = { reason: `${name} are not listed yet` };
    for (const index of Object.keys(indexes)) this.indexes.set(index, new Map());
  }

  get synced(): boolean {
    return this.unreadable === undefined;
  }

  /** The newest resourceVersion that a list or the watch has shown. Undefined before the first complete list. */
  get version(): string | undefined {
    return this.newestVersion;
  }

  /** False once discovery shows that the kind is not served. A 404 alone is no proof: load balancers send it too. */
  get served(): boolean {
    return this.isKindServed;
  }

  lookup(key: ObjectKey): Lookup {
    if (this.unreadable !== undefined) return { kind: 'unknown', ...this.unreadable };
    const object = this.objects.get(keyText(key));
    return object === undefined ? { kind: 'absent' } : { kind: 'found', object };
  }

  /**
   * Returns the objects, sorted by the text `<namespace>/<name>`. The list stays the same JavaScript array until one of
   * the objects changes, so a reader can cache what it computes from the list.
   */
  list(): Listing {
    return this.listing(this.all);
  }

  /**
   * Returns the objects with this value, in the order of the index. As in {@link list}, the array stays the same until
   * one of the objects changes.
   *
   * @throws RangeError for an index that the options of the store do not declare
   */
  byIndex(index: string, value: string): Listing {
    const values = this.indexes.get(index);
    if (values === undefined) throw new RangeError(`the store of ${this.name} has no index "${index}"`);
    return this.listing(values.get(value) ?? new Group());
  }

  onChange(handler: ChangeHandler): void {
    this.changeHandlers.add(handler);
  }

  onSync(handler: (synced: boolean) => void): void {
    this.syncHandlers.add(handler);
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return until(() => this.synced, this.syncHandlers, signal);
  }

  /**
   * Stores the object that the API server returned for a write. The store then ignores watch events with an older
   * version of this object. The answer also replaces a stored object of the same resourceVersion: a watch that began
   * under a different CRD continues for up to two minutes, without the fields that this CRD lacks.
   *
   * The answer to the write that removes the last finalizer shows the object with its resourceVersion from before the
   * deletion. If the watch has sent the deletion before that answer arrives, the object stays deleted.
   */
  replaceWith(object: KubeObject): void {
    const isKnown = this.objects.has(keyText(keyOf(object)));
    const isDeleted =
      !isKnown && this.newestVersion !== undefined && !isOlder(this.newestVersion, object.metadata.resourceVersion);
    if (!isDeleted) this.put(object, { evenIfSameVersion: true });
  }

  /**
   * Replaces the content of the store with a complete list from the API server. Stored objects that are newer than the
   * list are kept, unless the list itself is older than an earlier list or watch event: then the newer objects are
   * replaced or removed too. A listed object also replaces a stored object of the same resourceVersion: after etcd was
   * restored from a backup, their contents can differ.
   */
  replaceAll(items: readonly KubeObject[], resourceVersion: string): void {
    for (const _ of this.replacing(items, resourceVersion));
  }

  /** Does the same as {@link replaceAll}, with a pause after each object, so that other work can run. */
  *replacing(items: readonly KubeObject[], resourceVersion: string): Generator<void> {
    // Only a restore of etcd from a backup, or an answer from another API server, makes a list older than an earlier
    // list or watch event.
    const isHistoryRewound = this.newestVersion !== undefined && isOlder(resourceVersion, this.newestVersion);
    const isInInitialList = this.newestVersion === undefined;
    const listed = new Set(items.map((item) => keyText(keyOf(item))));
    for (const [text, stored] of this.objects) {
      const isYoungerThanList = isOlder(resourceVersion, stored.metadata.resourceVersion);
      if (!listed.has(text) && (isHistoryRewound || !isYoungerThanList)) this.deleteObject(stored);
    }
    for (const item of items) {
      // The list can be newer than the stored version of an object, and yet contain an older version of this object.
      // Then etcd was restored from a backup with a higher revision (etcdutl snapshot restore --bump-revision). The
      // stored version is lost in etcd, so the older version replaces it.
      const stored = this.objects.get(keyText(keyOf(item)));
      const isListAsNewAsStored = stored !== undefined && !isOlder(resourceVersion, stored.metadata.resourceVersion);
      this.put(item, {
        isInInitialList,
        evenIfSameVersion: true,
        evenIfOlder: isHistoryRewound || isListAsNewAsStored,
      });
      yield;
    }
    if (isHistoryRewound) this.newestVersion = undefined;
    this.advance(resourceVersion);
    this.isKindServed = true;
    this.setUnreadable(undefined);
  }

  /** Stores an object that the watch reports as added or modified, unless a write has returned a newer version. */
  upsert(object: KubeObject): void {
    this.put(object);
    this.advance(object.metadata.resourceVersion);
  }

  /** Removes an object that the watch reports as deleted, unless a write has returned a newer version. */
  remove(object: KubeObject): void {
    const version = object.metadata.resourceVersion;
    const stored = this.objects.get(keyText(keyOf(object)));
    const isRecreated = stored !== undefined && isOlder(version, stored.metadata.resourceVersion);
    if (stored !== undefined && !isRecreated) this.deleteObject(stored, deepFreeze(withoutManagedFields(object)));
    this.advance(version);
  }

  /** Records that a list or the watch has shown every change up to this resourceVersion. */
  advance(resourceVersion: string): void {
    if (this.newestVersion !== undefined && !isOlder(this.newestVersion, resourceVersion)) return;
    this.newestVersion = resourceVersion;
    for (const handler of this.versionHandlers) handler();
  }

  /** True if the store has every change of the kind up to this resourceVersion. */
  includes(resourceVersion: string): boolean {
    return this.synced && this.newestVersion !== undefined && isAtLeast(this.newestVersion, resourceVersion);
  }

  whenIncludes(resourceVersion: string, signal: AbortSignal): Promise<void> {
    return until(() => this.includes(resourceVersion), this.versionHandlers, signal);
  }

  /** Every answer of the store is `unknown` until the next complete list. */
  markUnknown(unreadable: Unreadable): void {
    this.setUnreadable(unreadable);
  }

  /** Like {@link markUnknown}, for a kind that discovery has shown not to be served. */
  markUnserved(unreadable: Unreadable): void {
    this.isKindServed = false;
    this.setUnreadable(unreadable);
  }

  private listing(group: Group): Listing {
    if (this.unreadable !== undefined) return { kind: 'unknown', ...this.unreadable };
    return { kind: 'listed', objects: group.list() };
  }

  private setUnreadable(unreadable: Unreadable | undefined): void {
    const changed = this.synced !== (unreadable === undefined);
    this.unreadable = unreadable;
    if (changed) for (const handler of this.syncHandlers) this.callSafely(() => handler(this.synced));
  }

  private deleteObject(stored: KubeObject, last = stored): void {
    const text = keyText(keyOf(stored));
    this.objects.delete(text);
    this.reindex(text, undefined);
    this.notify({ type: 'deleted', object: last });
  }

  private put(
    object: KubeObject,
    { isInInitialList = false, evenIfSameVersion = false, evenIfOlder = false }: PutOptions = {},
  ): void {
    const text = keyText(keyOf(object));
    const previous = this.objects.get(text);
    const version = object.metadata.resourceVersion;
    if (previous !== undefined) {
      const storedVersion = previous.metadata.resourceVersion;
      if (isOlder(version, storedVersion) && !evenIfOlder) return;
      if (storedVersion === version && (!evenIfSameVersion || jsonEqual(previous, withoutManagedFields(object))))
        return;
    }
    const frozen = deepFreeze(withoutManagedFields(object));
    this.objects.set(text, frozen);
    this.reindex(text, frozen);
    this.notify(
      previous === undefined
        ? { type: 'added', object: frozen, isInInitialList }
        : { type: 'updated', object: frozen, previous },
    );
  }

  private reindex(text: string, after: KubeObject | undefined): void {
    if (after === undefined) this.all.remove(text);
    else this.all.put(text, after);
    const before = this.indexed.get(text);
    const now = new Map<string, Place>();
    for (const [index, groups] of this.indexes) {
      const place = after === undefined ? NOWHERE : this.placeOf(index, after);
      const known = before?.get(index) ?? NOWHERE;
      now.set(index, place);
      for (const value of known.values) {
        if (place.order === known.order && place.values.includes(value)) continue;
        const group = groups.get(value);
        group?.remove(known.order + text);
        if (group?.isEmpty === true) groups.delete(value);
      }
      if (after === undefined) continue;
      for (const value of place.values) {
        const group = groups.get(value) ?? new Group();
        group.put(place.order + text, after);
        groups.set(value, group);
      }
    }
    if (after === undefined) this.indexed.delete(text);
    else this.indexed.set(text, now);
  }

  private placeOf(index: string, object: KubeObject): Place {
    const find = (): Place => {
      const values = this.indexFuncs[index]?.(object) ?? [];
      return { values, order: values.length === 0 ? '' : (this.orders[index]?.(object) ?? '') };
    };
    return this.callSafely(find) ?? NOWHERE;
  }

  private notify(change: Change): void {
    for (const handler of this.changeHandlers) this.callSafely(() => handler(change));
  }

  private callSafely<A>(work: () => A): A | undefined {
    try {
      return work();
    } catch (error) {
      this.logger.error('A handler of the store failed', error, { store: this.name });
      return undefined;
    }
  }
}

/** An object's values in an index, and the text that sorts it there. */
interface Place {
  readonly values: readonly string[];
  readonly order: string;
}

const NOWHERE: Place = { values: [], order: '' };

/** A list of objects that is always sorted by their texts, so that a change in a long list takes few comparisons. */
class Group {
  private readonly texts: string[] = [];
  private readonly objects: KubeObject[] = [];
  private listed: readonly KubeObject[] | undefined;

  get isEmpty(): boolean {
    return this.texts.length === 0;
  }

  put(text: string, object: KubeObject): void {
    const index = this.indexOf(text);
    const known = this.texts[index] === text ? 1 : 0;
    this.texts.splice(index, known, text);
    this.objects.splice(index, known, object);
    this.listed = undefined;
  }

  remove(text: string): void {
    const index = this.indexOf(text);
    if (this.texts[index] !== text) return;
    this.texts.splice(index, 1);
    this.objects.splice(index, 1);
    this.listed = undefined;
  }

  list(): readonly KubeObject[] {
    return (this.listed ??= [...this.objects]);
  }

  private indexOf(text: string): number {
    let [first, end] = [0, this.texts.length];
    while (first < end) {
      const middle = Math.floor((first + end) / 2);
      if ((this.texts[middle] ?? '') < text) first = middle + 1;
      else end = middle;
    }
    return first;
  }
}

/** Resolves when the condition is true, which is checked after each change. Rejects with the reason of `signal`. */
function until(
  isTrue: () => boolean,
  handlers: { add(handler: () => void): unknown; delete(handler: () => void): unknown },
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      if (!signal.aborted && !isTrue()) return;
      handlers.delete(check);
      signal.removeEventListener('abort', check);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    handlers.add(check);
    signal.addEventListener('abort', check, { once: true });
    check();
  });
}

function withoutManagedFields(object: KubeObject): KubeObject {
  if (!('managedFields' in object.metadata)) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
