/** For tests: a virtual clock, seeded randomness, a logger that keeps its lines, an API server in memory, a proxy. */
export * from './virtual-clock.ts';
export * from './seeded-random.ts';
export * from './memory-logger.ts';
export * from './fake-api-server.ts';
export type { StoredEvent } from './fake-storage.ts';
export * from './connect-proxy.ts';
export * from './property-runs.ts';
