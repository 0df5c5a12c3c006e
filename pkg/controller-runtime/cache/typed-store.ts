import { isLeft, left, type Either } from 'fp-ts/lib/Either.js';
import type { DecodeProblem } from '../schema/problem.ts';
import type { KubeObject, ObjectKey } from '../client/types.ts';
import { errorMessage } from '../text/error-text.ts';
import { deepFreeze } from '../json/patches.ts';
import type { Store, Unreadable } from './store.ts';

export type Decoded<A> = Either<readonly DecodeProblem[], A>;

export interface TypedEntry<A> {
  readonly object: KubeObject;
  readonly decoded: Decoded<A>;
}

/** A {@link Lookup} with the decoded object. An object that cannot be decoded is `found`, not `absent`. */
export type TypedLookup<A> =
  | ({ readonly kind: 'found' } & TypedEntry<A>)
  | { readonly kind: 'absent' }
  | ({ readonly kind: 'unknown' } & Unreadable);

/** A {@link Listing} with the decoded objects. Objects that cannot be decoded are listed too. */
export type TypedListing<A> =
  { readonly kind: 'listed'; readonly entries: readonly TypedEntry<A>[] } | ({ readonly kind: 'unknown' } & Unreadable);

/**
 * A typed view of a {@link Store}: decodes each version of an object once, when a reader first asks for that version.
 *
 * - All readers of one version get the same `decoded`, deeply frozen. The view refers to the objects of the store
 *   weakly, so it keeps none of them in memory.
 * - `decoder` must be pure. When it throws, the object counts as undecodable, so that one object never ends the listing
 *   of all others.
 *
 * Create one view per store: a second view decodes every object a second time.
 */
export class TypedStore<A> {
  private readonly store: Store;
  private readonly decoder: (object: KubeObject) => Decoded<A>;
  private readonly decodedObjects = new WeakMap<KubeObject, Decoded<A>>();
  private readonly typedLists = new WeakMap<readonly KubeObject[], readonly TypedEntry<A>[]>();

  constructor(store: Store, decoder: (object: KubeObject) => Decoded<A>) {
    this.store = store;
    this.decoder = decoder;
  }

  /** The number of objects that cannot be decoded. 0 while the store is not synced. */
  get unreadable(): number {
    const listing = this.list();
    return listing.kind === 'unknown' ? 0 : listing.entries.filter(({ decoded }) => isLeft(decoded)).length;
  }

  get served(): boolean {
    return this.store.served;
  }

  get version(): string | undefined {
    return this.store.version;
  }

  lookup(key: ObjectKey): TypedLookup<A> {
    const lookup = this.store.lookup(key);
    return lookup.kind === 'found' ? { kind: 'found', ...this.entryOf(lookup.object) } : lookup;
  }

  /** Sorted by the text `<namespace>/<name>`. */
  list(): TypedListing<A> {
    return this.typed(this.store.list());
  }

  /** @throws RangeError for an index that the store does not have */
  byIndex(index: string, value: string): TypedListing<A> {
    return this.typed(this.store.byIndex(index, value));
  }

  whenIncludes(resourceVersion: string, signal: AbortSignal): Promise<void> {
    return this.store.whenIncludes(resourceVersion, signal);
  }

  /** The store must have returned `object`, or have passed it to a ChangeHandler. */
  decode(object: KubeObject): Decoded<A> {
    const known = this.decodedObjects.get(object);
    if (known !== undefined) return known;
    const decoded = this.tryDecode(object);
    this.decodedObjects.set(object, decoded);
    return decoded;
  }

  private tryDecode(object: KubeObject): Decoded<A> {
    try {
      return deepFreeze(this.decoder(object));
    } catch (error) {
      return left([{ path: '', expected: 'an object that the controller can decode', got: errorMessage(error) }]);
    }
  }

  private typed(listing: ReturnType<Store['list']>): TypedListing<A> {
    if (listing.kind === 'unknown') return listing;
    const { objects } = listing;
    const entries = this.typedLists.get(objects) ?? objects.map((object) => this.entryOf(object));
    this.typedLists.set(objects, entries);
    return { kind: 'listed', entries };
  }

  private entryOf(object: KubeObject): TypedEntry<A> {
    return { object, decoded: this.decode(object) };
  }
}

export type TypedStoreReader<A> = Omit<TypedStore<A>, 'unreadable'>;
