import type { Cluster } from '../../api/external/index.ts';
import { CLUSTER_GROUP, CLUSTER_KIND } from '../../api/external/index.ts';
import type { ObjectMeta, OwnerReference } from '../../api/meta.ts';
import type { UnknownRecord } from '../../api/record.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import {
  CLUSTER_NAME_LABEL,
  DELETION_REQUESTED_ANNOTATION,
  FINALIZER,
  PROVISIONED_IN_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../api/v1beta2/index.ts';
import { diffMergePatch } from '../../pkg/kube/patches.ts';
import type { Inputs } from './inputs.ts';
import type { Goal } from './model.ts';
import { isDeleting } from '../standing.ts';
import type { Somewhere } from './whereabouts.ts';
import { NOWHERE, whereaboutsOf, written } from './whereabouts.ts';

/**
 * The merge patch that gives the object the metadata it must have before anything is done for it, or `undefined`: the
 * finalizer once there is something to pursue, with the note that nothing was begun before; the Cluster's label and owner
 * reference; the mirror of `deletionPolicy: Retain`. Nothing is added to an object that is being deleted; a finalizer could
 * not be.
 */
export function metadataPatch({ object, cluster, clusterApiVersion }: Inputs, goal: Goal): UnknownRecord | undefined {
  if (isDeleting(object)) return undefined;
  const { metadata } = object;
  const finalizers = goal.kind === 'pursue' ? withFinalizer(metadata.finalizers) : metadata.finalizers;
  const annotations = mirroredRetain(object);
  const isBeginning = finalizers !== metadata.finalizers && whereaboutsOf(object).kind === 'unknown';
  return metadataDiff(metadata, {
    ...metadata,
    labels: { ...metadata.labels, [CLUSTER_NAME_LABEL]: object.spec.clusterName },
    annotations: isBeginning ? { ...annotations, [PROVISIONED_IN_ANNOTATION]: NOWHERE } : annotations,
    finalizers,
    ownerReferences:
      cluster.kind === 'found' ? withOwner(object, cluster.object, clusterApiVersion) : metadata.ownerReferences,
  });
}

/** The merge patch that lets a deleted object go. */
export function releasePatch({ metadata }: AWSFargateProfile): UnknownRecord | undefined {
  return metadataDiff(metadata, { ...metadata, finalizers: metadata.finalizers?.filter((each) => each !== FINALIZER) });
}

/** The merge patch that says on the object where in AWS it is; `undefined`: it says so already. */
export function whereaboutsMark({ metadata }: AWSFargateProfile, where: Somewhere): UnknownRecord | undefined {
  return metadataDiff(metadata, {
    ...metadata,
    annotations: { ...metadata.annotations, [PROVISIONED_IN_ANNOTATION]: written(where) },
  });
}

/**
 * The merge patch that says on the object that its deletion has begun, and where: `clusterctl move` makes it anew without
 * its deletionTimestamp and status, but with its annotations.
 */
export function deletionMark({ metadata }: AWSFargateProfile, where: Somewhere): UnknownRecord | undefined {
  return metadataDiff(metadata, {
    ...metadata,
    annotations: {
      ...metadata.annotations,
      [PROVISIONED_IN_ANNOTATION]: written(where),
      [DELETION_REQUESTED_ANNOTATION]: 'true',
    },
  });
}

type Changing = { readonly [K in keyof ObjectMeta]?: ObjectMeta[K] | undefined };

const metadataDiff = (before: ObjectMeta, after: Changing): UnknownRecord | undefined =>
  diffMergePatch({ metadata: { ...before } }, { metadata: { ...after } });

const withFinalizer = (finalizers: readonly string[] = []): readonly string[] =>
  finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER];

/** Only an explicit `Delete` takes the mirror away: the field alone can have been dropped by a CRD that does not know it. */
function mirroredRetain({ metadata, spec }: AWSFargateProfile): ObjectMeta['annotations'] {
  const { [RETAIN_ANNOTATION]: mirror, ...others } = metadata.annotations ?? {};
  if (spec.deletionPolicy === 'Retain') return { ...metadata.annotations, [RETAIN_ANNOTATION]: mirror ?? 'true' };
  return spec.deletionPolicy === 'Delete' ? others : metadata.annotations;
}

/**
 * One reference, to the Cluster, so that `clusterctl move` takes the object along. It is matched by group, kind and name,
 * and put back or brought up to date when it got lost; never while one of the two is being deleted, which would fight the
 * garbage collector.
 */
function withOwner(object: AWSFargateProfile, cluster: Cluster, apiVersion: string): ObjectMeta['ownerReferences'] {
  const before = object.metadata.ownerReferences;
  if (cluster.metadata.deletionTimestamp !== undefined) return before;
  const isOurs = (reference: OwnerReference): boolean =>
    reference.kind === CLUSTER_KIND &&
    reference.apiVersion.startsWith(`${CLUSTER_GROUP}/`) &&
    reference.name === cluster.metadata.name;
  if (isTrackedByArgo(object.metadata)) return before?.filter((reference) => !isOurs(reference));
  const wanted = { apiVersion, kind: CLUSTER_KIND, name: cluster.metadata.name, uid: cluster.metadata.uid };
  const known = before?.find(isOurs);
  return known === undefined
    ? [...(before ?? []), wanted]
    : before?.map((reference) => (reference === known ? { ...known, ...wanted } : reference));
}

/** Argo CD never prunes an object that has any owner reference. */
function isTrackedByArgo({ annotations = {}, labels = {} }: ObjectMeta): boolean {
  return (
    annotations['argocd.argoproj.io/tracking-id'] !== undefined || labels['argocd.argoproj.io/instance'] !== undefined
  );
}
