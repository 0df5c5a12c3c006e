import type { Either } from 'fp-ts/lib/Either.js';
import { NamespacedMeta } from '../meta.ts';
import { boolean, object, optional, view } from '../schema/field.ts';
import type { Field } from '../schema/field.ts';
import { decode } from '../schema/problem.ts';
import type { DecodeProblem } from '../schema/problem.ts';
import { RawReference, toReference } from './reference.ts';
import type { ObjectReference } from './reference.ts';

export const CLUSTER_GROUP = 'cluster.x-k8s.io';
export const CLUSTER_KIND = 'Cluster';
export const CLUSTER_PLURAL = 'clusters';
/** The API versions of the kind Cluster that the manager can read, in order of preference. */
export const CLUSTER_VERSIONS = ['v1beta2', 'v1beta1'] as const;

/** The fields of Cluster API's Cluster that this provider reads, in one shape for v1beta1 and v1beta2. */
export interface Cluster {
  readonly metadata: NamespacedMeta;
  readonly paused: boolean;
  readonly controlPlaneRef?: ObjectReference;
}

const RawCluster = object({
  metadata: NamespacedMeta,
  spec: optional(
    object({
      paused: optional(boolean()),
      controlPlaneRef: optional(RawReference),
    }),
  ),
});

export const Cluster: Field<Cluster> = view(RawCluster, ({ metadata, spec = {} }): Cluster => {
  const controlPlaneRef = toReference(spec.controlPlaneRef, metadata.namespace);
  return {
    metadata,
    paused: spec.paused ?? false,
    ...(controlPlaneRef && { controlPlaneRef }),
  };
});

export const decodeCluster = (input: unknown): Either<readonly DecodeProblem[], Cluster> => decode(Cluster, input);
