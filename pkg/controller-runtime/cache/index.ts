/** A cache of the API server's objects of one kind, kept up to date by a watch. */
export * from './reflector.ts';
export * from './store.ts';
export * from './typed-store.ts';
export * from './resource-version.ts';
