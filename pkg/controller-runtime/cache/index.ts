/** A cache of the API server's objects of one kind, kept up to date by a watch. */
export { type ReflectorOptions, Reflector } from './reflector.ts';
export {
  type Lookup,
  type Listing,
  type ReadObstacle,
  type Unreadable,
  type Change,
  type IndexFunc,
  type StoreOptions,
  type ChangeHandler,
  Store,
} from './store.ts';
export {
  type Decoded,
  type TypedEntry,
  type TypedLookup,
  type TypedListing,
  TypedStore,
  type TypedStoreReader,
} from './typed-store.ts';
export { isOlder, isAtLeast } from './resource-version.ts';
