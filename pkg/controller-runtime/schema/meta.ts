import { boolean, integer, list, map, object, optional, string, type TypeOf } from './field.ts';

const OwnerReference = object({
  apiVersion: string(),
  kind: string(),
  name: string(),
  uid: string(),
  controller: optional(boolean()),
  blockOwnerDeletion: optional(boolean()),
});
export interface OwnerReference extends TypeOf<typeof OwnerReference> {}

/** The parts of Kubernetes' ObjectMeta that controllers read. Timestamps are RFC 3339 text. */
const fields = {
  name: string(),
  uid: string(),
  resourceVersion: string(),
  generation: optional(integer({ format: 'int64' })),
  creationTimestamp: optional(string()),
  deletionTimestamp: optional(string()),
  labels: optional(map(string())),
  annotations: optional(map(string())),
  finalizers: optional(list(string())),
  ownerReferences: optional(list(OwnerReference)),
};

export const ObjectMeta = object({ ...fields, namespace: optional(string()) });
export interface ObjectMeta extends TypeOf<typeof ObjectMeta> {}

export const NamespacedMeta = object({ ...fields, namespace: string() });
export interface NamespacedMeta extends TypeOf<typeof NamespacedMeta> {}
