/** A client for raw JSON objects of the API server, its errors, and the keys of objects. */
export { type KubeClientOptions, createKubeClient } from './client.ts';
export * from './types.ts';
export * from './object-key.ts';
export * from './errors.ts';
export * from './permission-remedies.ts';
export * from './discovery.ts';
export { listAll, listPages } from './pages.ts';
export { resourceName } from './requests/paths.ts';
export {
  type Method,
  type TransportRequest,
  type TransportResponse,
  type Transport,
  type CountRequest,
  type ObserveRequestsOptions,
  observeRequests,
} from './transport.ts';
export { type Eviction, type Evictions, newEvictions } from './evictions.ts';
export { errorFromResponse } from './requests/error-response.ts';
