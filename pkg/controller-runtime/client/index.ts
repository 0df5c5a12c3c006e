/** A client for raw JSON objects of the API server, its errors, and the keys of objects. */
export { type KubeClientOptions, createKubeClient } from './client.ts';
export type {
  Resource,
  KubeObject,
  ObjectKey,
  KubeList,
  WatchEvent,
  Selection,
  ListOptions,
  WatchOptions,
  CreateOptions,
  PatchOptions,
  ApplyOptions,
  JsonPatchOperation,
  DeleteOptions,
  KubeClient,
} from './types.ts';
export { keyText, parseKeyText, keyOf } from './object-key.ts';
export {
  KubeError,
  isConflict,
  isAlreadyExists,
  isNotFound,
  isNotServed,
  isExpired,
  isForbidden,
  isInvalid,
  isNoAnswer,
  isInterrupted,
  isUndecodable,
} from './errors.ts';
export { GIVE_CREDENTIALS, GRANT, NOT_GRANTED, remedyOf } from './permission-remedies.ts';
export { findServed } from './discovery.ts';
export { listAll } from './pages.ts';
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
export { splitLines } from './requests/watch-stream.ts';
