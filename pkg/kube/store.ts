import type { Logger } from '../env/logger.ts';
import { keyOf, keyText } from './paths.ts';
import { isOlder } from './resource-version.ts';
import type { KubeObject, ObjectKey } from './types.ts';

/** What the store knows of one object. `unknown`: the kind is not served or not listed yet, which says nothing about it. */
export type Lookup =
  | { readonly kind: 'found'; readonly object: KubeObject }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly why: string };

export type Listing =
  | { readonly kind: 'listed'; readonly objects: readonly KubeObject[] }
  | { readonly kind: 'unknown'; readonly why: string };

export type Change =
  | { readonly type: 'added'; readonly object: KubeObject; readonly isInInitialList: boolean }
  | { readonly type: 'updated'; readonly object: KubeObject; readonly previous: KubeObject }
  /** `object` is the last state known: of an object that vanished between two lists that is not its very last. */
  | { readonly type: 'deleted'; readonly object: KubeObject };

/** The values under which an index finds an object. */
export type IndexBy = (object: KubeObject) => readonly string[];

export interface StoreReader {
  lookup(key: ObjectKey): Lookup;
  /** In the order of namespace and name. */
  list(): Listing;
  byIndex(index: string, value: string): Listing;
  readonly synced: boolean;
}

export interface StoreOptions {
  /** What is kept, for messages: `awsfargateprofiles.infrastructure.cluster.x-k8s.io`. */
  readonly name: string;
  readonly logger: Logger;
  readonly indexes?: Readonly<Record<string, IndexBy>>;
}

/** Told of every change, in order, synchronously. What it throws is logged and hurts nobody else. */
export type ChangeHandler = (change: Change) => void;

/** Takes a handler back. */
export type Unsubscribe = () => void;

/**
 * The objects of one kind as the API server last showed them, deeply frozen and without `metadata.managedFields`.
 *
 * The reflector writes it, controllers read it. Absent is not unknown: while the kind is not served, or before the first
 * complete list, every question is answered `unknown`, though what was known before is kept and no deletion is told.
 *
 * A controller that wrote an object hands the answer in with {@link replaceWith}, so that no decision is made on a state
 * that it has changed itself already, however late the watch is.
 */
export class Store implements StoreReader {
  readonly name: string;
  private readonly logger: Logger;
  private readonly indexBy: Readonly<Record<string, IndexBy>>;
  private readonly objects = new Map<string, KubeObject>();
  /** Index → value → keys. */
  private readonly indexes = new Map<string, Map<string, Set<string>>>();
  private readonly changeHandlers = new Set<ChangeHandler>();
  private readonly syncHandlers = new Set<(synced: boolean) => void>();
  /** The newest version that list or watch has brought, of whatever object. */
  private seen: string | undefined;
  private unknown: string | undefined;

  constructor({ name, logger, indexes = {} }: StoreOptions) {
    this.name = name;
    this.logger = logger;
    this.indexBy = indexes;
    this.unknown = `${name} are not listed yet`;
    for (const index of Object.keys(indexes)) this.indexes.set(index, new Map());
  }

  get synced(): boolean {
    return this.unknown === undefined;
  }

  lookup(key: ObjectKey): Lookup {
    if (this.unknown !== undefined) return { kind: 'unknown', why: this.unknown };
    const object = this.objects.get(keyText(key));
    return object === undefined ? { kind: 'absent' } : { kind: 'found', object };
  }

  list(): Listing {
    return this.listing(this.objects.keys());
  }

  /** @throws RangeError for an index that was not declared: a mistake in the program. */
  byIndex(index: string, value: string): Listing {
    const values = this.indexes.get(index);
    if (values === undefined) throw new RangeError(`the store of ${this.name} has no index "${index}"`);
    return this.listing(values.get(value) ?? []);
  }

  onChange(handler: ChangeHandler): Unsubscribe {
    this.changeHandlers.add(handler);
    return () => this.changeHandlers.delete(handler);
  }

  /** Told when answers become known (`true`) and when they stop being so. */
  onSync(handler: (synced: boolean) => void): Unsubscribe {
    this.syncHandlers.add(handler);
    return () => this.syncHandlers.delete(handler);
  }

  /** Resolves when answers are known. Rejects with the signal's reason. */
  whenSynced(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.synced) return resolve();
      const onAbort = (): void => {
        unsubscribe();
        reject(signal.reason);
      };
      const unsubscribe = this.onSync((synced) => {
        if (!synced) return;
        unsubscribe();
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /**
   * Takes the API server's answer to a write: from now on the object is as that says, and what the watch brings of before
   * is passed over. The answer to a write that ends an object shows it as it was before: if the watch was faster and has
   * told its end, it stays gone.
   */
  replaceWith(object: KubeObject): void {
    const isKnown = this.objects.has(keyText(keyOf(object)));
    const isOver = !isKnown && this.seen !== undefined && !isOlder(this.seen, object.metadata.resourceVersion);
    if (!isOver) this.put(object);
  }

  /** For the reflector: a complete list. What is not in it is gone. */
  replaceAll(items: readonly KubeObject[], resourceVersion: string): void {
    // A list is never older than what its own server showed before: etcd was restored from a backup, or it is another.
    const isRewound = this.seen !== undefined && isOlder(resourceVersion, this.seen);
    const isInInitialList = this.seen === undefined;
    const listed = new Set(items.map((item) => keyText(keyOf(item))));
    for (const [text, known] of this.objects) {
      const isYoungerThanList = isOlder(resourceVersion, known.metadata.resourceVersion);
      if (!listed.has(text) && (isRewound || !isYoungerThanList)) this.drop(known);
    }
    for (const item of items) this.put(item, { isInInitialList, evenIfOlder: isRewound });
    if (isRewound) this.seen = undefined;
    this.advance(resourceVersion);
    this.setUnknown(undefined);
  }

  /** For the reflector: the object as it is now. One older than the answer to a write of ours is passed over. */
  upsert(object: KubeObject): void {
    this.put(object);
    this.advance(object.metadata.resourceVersion);
  }

  /** For the reflector: the object is gone; `object` is its last state. */
  remove(object: KubeObject): void {
    const version = object.metadata.resourceVersion;
    const known = this.objects.get(keyText(keyOf(object)));
    const isThereAgain = known !== undefined && isOlder(version, known.metadata.resourceVersion);
    if (known !== undefined && !isThereAgain) this.drop(known, freeze(withoutManagedFields(object)));
    this.advance(version);
  }

  /** For the reflector: everything up to this version has been told. Events of one kind come in the order of versions. */
  advance(resourceVersion: string): void {
    if (this.seen === undefined || isOlder(this.seen, resourceVersion)) this.seen = resourceVersion;
  }

  /** For the reflector: from now on nothing is known, until the next complete list. */
  markUnknown(why: string): void {
    this.setUnknown(why);
  }

  private listing(keys: Iterable<string>): Listing {
    if (this.unknown !== undefined) return { kind: 'unknown', why: this.unknown };
    const objects = [...keys].toSorted().flatMap((key) => this.objects.get(key) ?? []);
    return { kind: 'listed', objects };
  }

  private setUnknown(why: string | undefined): void {
    const changed = (this.unknown === undefined) !== (why === undefined);
    this.unknown = why;
    if (changed) for (const handler of this.syncHandlers) this.guarded(() => handler(why === undefined));
  }

  private drop(known: KubeObject, last = known): void {
    const text = keyText(keyOf(known));
    this.objects.delete(text);
    this.unindex(text, known);
    this.tell({ type: 'deleted', object: last });
  }

  private put(object: KubeObject, { isInInitialList = false, evenIfOlder = false } = {}): void {
    const text = keyText(keyOf(object));
    const previous = this.objects.get(text);
    const version = object.metadata.resourceVersion;
    if (previous !== undefined) {
      const known = previous.metadata.resourceVersion;
      if (known === version || (isOlder(version, known) && !evenIfOlder)) return;
      this.unindex(text, previous);
    }
    const kept = freeze(withoutManagedFields(object));
    this.objects.set(text, kept);
    this.index(text, kept);
    this.tell(
      previous === undefined
        ? { type: 'added', object: kept, isInInitialList }
        : { type: 'updated', object: kept, previous },
    );
  }

  private index(text: string, object: KubeObject): void {
    for (const [index, values] of this.indexes) {
      for (const value of this.valuesOf(index, object)) {
        const keys = values.get(value);
        if (keys === undefined) values.set(value, new Set([text]));
        else keys.add(text);
      }
    }
  }

  private unindex(text: string, object: KubeObject): void {
    for (const [index, values] of this.indexes) {
      for (const value of this.valuesOf(index, object)) {
        const keys = values.get(value);
        keys?.delete(text);
        if (keys?.size === 0) values.delete(value);
      }
    }
  }

  private valuesOf(index: string, object: KubeObject): readonly string[] {
    return this.guarded(() => this.indexBy[index]?.(object)) ?? [];
  }

  private tell(change: Change): void {
    for (const handler of this.changeHandlers) this.guarded(() => handler(change));
  }

  private guarded<A>(work: () => A): A | undefined {
    try {
      return work();
    } catch (error) {
      this.logger.error('A handler of the store failed', error, { store: this.name });
      return undefined;
    }
  }
}

function withoutManagedFields(object: KubeObject): KubeObject {
  if (!('managedFields' in object.metadata)) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function freeze<A>(value: A): A {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}
