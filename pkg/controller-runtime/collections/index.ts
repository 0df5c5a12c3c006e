/** A bounded cache. */
export * from './lru.ts';
