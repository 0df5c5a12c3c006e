import type { ObjectMeta } from '../../api/meta.ts';

/** Where a kind is served: group (`''` for the core group), version, plural. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** An object as the API server sends it: undecoded but for its metadata. Never changed in place. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** Namespace and name; the namespace of a cluster-scoped object is `''`. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

export interface KubeList {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly items: readonly KubeObject[];
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  /** Nothing happened up to this version: the watch can go on from here. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | {
      readonly type: 'ERROR';
      readonly status: { readonly code: number; readonly reason: string; readonly message: string };
    };

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  /** Absent: the newest state, read through etcd. */
  readonly resourceVersion?: string;
  readonly signal: AbortSignal;
}

export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

export interface PatchOptions {
  readonly subresource?: 'status';
  readonly signal: AbortSignal;
}

export interface DeleteOptions {
  /** Another object of the same name is left alone (409 `Conflict`). */
  readonly uid: string;
  readonly signal: AbortSignal;
}

/**
 * The API server, raw JSON in and out.
 *
 * Every method throws {@link KubeError} on an answer other than 2xx and on no answer; `get` and `delete` answer
 * `undefined` for an object that is not there, and throw `NotServed` where the kind itself is unknown to the server.
 * A server that asks to come back later (429 or 5xx with Retry-After) is asked again then, within the time that the request
 * has; only a watch is its caller's to repeat.
 * Bodies of merge patches are RFC 7386: `null` removes, lists are replaced whole.
 */
export interface KubeClient {
  get(resource: Resource, key: ObjectKey, options: { readonly signal: AbortSignal }): Promise<KubeObject | undefined>;
  list(resource: Resource, options: ListOptions): Promise<KubeList>;
  /** Ends when the server closes it or the signal aborts; throws when the connection breaks. */
  watch(resource: Resource, options: WatchOptions): AsyncIterable<WatchEvent>;
  create(
    resource: Resource,
    namespace: string,
    object: unknown,
    options: { readonly signal: AbortSignal },
  ): Promise<KubeObject>;
  /** JSON merge patch. Put `metadata.resourceVersion` into the body to guard against concurrent writers (409). */
  mergePatch(resource: Resource, key: ObjectKey, patch: unknown, options: PatchOptions): Promise<KubeObject>;
  /** What is left: the object while finalizers hold it, `undefined` when it is gone. */
  delete(resource: Resource, key: ObjectKey, options: DeleteOptions): Promise<KubeObject | undefined>;
  /** GET of any path, for discovery: the decoded JSON, or `undefined` on 404. */
  discover(path: string, options: { readonly signal: AbortSignal }): Promise<unknown>;
}
