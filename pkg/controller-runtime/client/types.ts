import type { ObjectMeta } from '../schema/meta.ts';

/** A kind as the API server serves it. The group is `''` for the core group. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** An object as the API server sends it; never changed in place. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** The namespace of a cluster-scoped object is `''`. */
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
  /** The API server has sent all watch events up to this resourceVersion, and the watch can be resumed from there. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | {
      readonly type: 'ERROR';
      readonly status: { readonly code: number; readonly reason: string; readonly message: string };
    };

/** Which objects to list or watch. Without a namespace, those in all namespaces. Without a selector, all objects. */
export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection {
  readonly limit?: number;
  readonly continue?: string | undefined;
  readonly signal: AbortSignal;
}

export interface WatchOptions extends Selection {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

export interface CreateOptions {
  /** The API server runs admission and validation, and answers as if it had stored the object. */
  readonly dryRun?: boolean;
  /** The API server refuses fields that are missing from the schema, instead of dropping them. */
  readonly isStrict?: boolean;
  readonly signal: AbortSignal;
}

export interface PatchOptions extends CreateOptions {
  readonly subresource?: 'status';
}

export interface ApplyOptions {
  /** The name under which `metadata.managedFields` records the fields of the applied object. */
  readonly fieldManager: string;
  readonly signal: AbortSignal;
}

/** An operation of a JSON Patch (RFC 6902). */
export type JsonPatchOperation =
  | { readonly op: 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

export interface DeleteOptions {
  /** If a different object now has the name, the delete fails (409 `Conflict`). */
  readonly uid: string;
  readonly signal: AbortSignal;
}

/**
 * A client of the API server for raw JSON.
 *
 * - Every method throws {@link KubeError}, for example if there is no response within 30 s (60 s for a list). For an
 *   object that does not exist, the result is `undefined`; a kind that is not served is an error with the reason
 *   `NotServed`.
 * - A request that the API server asks to retry later (429 or 5xx with Retry-After) is retried within its deadline, at
 *   most ten times. A watch is not retried.
 */
export interface KubeClient {
  get(resource: Resource, key: ObjectKey, options: { readonly signal: AbortSignal }): Promise<KubeObject | undefined>;
  list(resource: Resource, options: ListOptions): Promise<KubeList>;
  /** Ends when the API server closes the watch or the signal aborts. */
  watch(resource: Resource, options: WatchOptions): AsyncIterable<WatchEvent>;
  create(resource: Resource, namespace: string, object: unknown, options: CreateOptions): Promise<KubeObject>;
  /** Sends an object that the API server answers without storing it, such as a TokenReview. */
  review(resource: Resource, object: unknown, options: { readonly signal: AbortSignal }): Promise<unknown>;
  /**
   * Applies a JSON merge patch (RFC 7386): `null` removes a field, a list is replaced as a whole. If the patch contains
   * `metadata.resourceVersion`, the write fails (409 `Conflict`) if the object's version differs.
   */
  mergePatch(resource: Resource, key: ObjectKey, patch: unknown, options: PatchOptions): Promise<KubeObject>;
  /** Applies all operations or none (422 `Invalid` if the value of a `test` operation differs). */
  jsonPatch(
    resource: Resource,
    key: ObjectKey,
    operations: readonly JsonPatchOperation[],
    options: { readonly signal: AbortSignal },
  ): Promise<KubeObject>;
  /**
   * Creates an object, or sets the fields of `object` as `kubectl apply --server-side --force-conflicts` does. Other
   * stored fields are kept, except those that only earlier calls with the same field manager have set.
   */
  apply(resource: Resource, key: ObjectKey, object: unknown, options: ApplyOptions): Promise<KubeObject>;
  /** Returns the object if finalizers keep it, or `undefined` if it was removed. */
  delete(resource: Resource, key: ObjectKey, options: DeleteOptions): Promise<KubeObject | undefined>;
  /** Returns the parsed JSON of a discovery path, or `undefined` for 404. */
  discover(path: string, options: { readonly signal: AbortSignal }): Promise<unknown>;
}
