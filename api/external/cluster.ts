import { isRight } from 'fp-ts/lib/Either.js';
import { fieldAt } from 'controller-runtime/json';
import {
  boolean,
  decode,
  type Field,
  NamespacedMeta,
  object,
  optional,
  optionalText,
  string,
  type TypeOf,
  view,
} from 'controller-runtime/schema';

/** Omits the API version: the manager reads the referenced object in a version that its CRD serves. */
export interface ObjectReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** In a reference, Cluster API's v1beta1 stores `apiVersion` and `namespace`, and v1beta2 only `apiGroup`. */
const RawReference = object({
  apiVersion: optional(string()),
  apiGroup: optional(string()),
  kind: optionalText(string()),
  name: optionalText(string()),
  namespace: optionalText(string()),
});

/** Returns `undefined` if the reference lacks a kind or a name. */
const toReference = (
  { apiVersion = '', apiGroup = groupOf(apiVersion), kind, name, namespace }: TypeOf<typeof RawReference>,
  referrer: Pick<NamespacedMeta, 'namespace'>,
): ObjectReference | undefined =>
  kind === undefined || name === undefined
    ? undefined
    : { group: apiGroup, kind, name, namespace: namespace ?? referrer.namespace };

/** Returns `''` for the core group's apiVersion `v1`. */
const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';

export const CLUSTER_GROUP = 'cluster.x-k8s.io';
export const CLUSTER_KIND = 'Cluster';
export const CLUSTER_PLURAL = 'clusters';
/** In order of preference. */
export const CLUSTER_VERSIONS = ['v1beta2', 'v1beta1'] as const;

/** Only the fields that this provider reads, in one shape for v1beta1 and v1beta2. */
export interface Cluster {
  readonly metadata: NamespacedMeta;
  readonly paused: boolean;
  readonly controlPlaneRef?: ObjectReference;
}

const RawCluster = object({
  metadata: NamespacedMeta,
  spec: optional(object({ paused: optional(boolean()), controlPlaneRef: optional(RawReference) })),
});

const Cluster: Field<Cluster> = view(RawCluster, ({ metadata, spec = {} }): Cluster => {
  const controlPlaneRef = toReference(spec.controlPlaneRef ?? {}, metadata);
  return { metadata, paused: spec.paused ?? false, ...(controlPlaneRef && { controlPlaneRef }) };
});

export const decodeCluster = (input: unknown) => decode(Cluster, input);

/** Reads only this field, because an index also contains Clusters whose other fields cannot be decoded. */
export function controlPlaneRefOf(
  spec: unknown,
  referrer: Pick<NamespacedMeta, 'namespace'>,
): ObjectReference | undefined {
  const reference = decode(RawReference, fieldAt(spec, 'controlPlaneRef'));
  return isRight(reference) ? toReference(reference.right, referrer) : undefined;
}
