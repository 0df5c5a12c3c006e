import { boolean, integer, list, map, object, optional, string, type Field } from './schema/field.ts';

/** The parts of Kubernetes' ObjectMeta that controllers read. Timestamps are RFC 3339 text. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The metadata of an object of a namespaced kind. */
export interface NamespacedMeta extends ObjectMeta {
  readonly namespace: string;
}

export const OwnerReference: Field<OwnerReference> = object({
  apiVersion: string(),
  kind: string(),
  name: string(),
  uid: string(),
  controller: optional(boolean()),
  blockOwnerDeletion: optional(boolean()),
});

const requiredFields = { name: string(), uid: string(), resourceVersion: string() };

const optionalFields = {
  generation: optional(integer({ format: 'int64' })),
  creationTimestamp: optional(string()),
  deletionTimestamp: optional(string()),
  labels: optional(map(string())),
  annotations: optional(map(string())),
  finalizers: optional(list(string())),
  ownerReferences: optional(list(OwnerReference)),
};

export const ObjectMeta: Field<ObjectMeta> = object({
  ...requiredFields,
  namespace: optional(string()),
  ...optionalFields,
});

export const NamespacedMeta: Field<NamespacedMeta> = object({
  ...requiredFields,
  namespace: string(),
  ...optionalFields,
});
