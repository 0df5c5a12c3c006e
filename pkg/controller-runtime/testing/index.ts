/** For tests: a virtual clock, seeded randomness, a logger that keeps its lines, an API server in memory, a proxy. */
export { VirtualClock } from './virtual-clock.ts';
export { SeededRandom } from './seeded-random.ts';
export { type LoggedLine, MemoryLogger } from './memory-logger.ts';
export {
  type FakeApiServerOptions,
  type Intercept,
  type LoggedRequest,
  FakeApiServer,
  json,
  text,
  type FakeKind,
} from './fake-api-server.ts';
export { type StoredEvent, FakeStorage } from './fake-storage.ts';
export { type ConnectProxy, startConnectProxy } from './connect-proxy.ts';
export { propertyRuns } from './property-runs.ts';
