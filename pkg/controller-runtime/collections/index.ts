/** A bounded cache. */
export { type LruOptions, Lru } from './lru.ts';
