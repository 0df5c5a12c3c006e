import type { ObjectMeta } from '../../api/meta.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import {
  DELETE_FOR_MOVE_ANNOTATION,
  FINALIZER,
  PAUSED_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../api/v1beta2/index.ts';

type ObjectWithMeta = { readonly metadata: ObjectMeta };

export const isDeleting = ({ metadata }: ObjectWithMeta): boolean => metadata.deletionTimestamp !== undefined;

/**
 * Whether `clusterctl move` is moving the object to another management cluster. The Fargate profile and its role in AWS
 * must then stay as they are.
 */
export const isMoving = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.annotations?.[DELETE_FOR_MOVE_ANNOTATION] !== undefined;

/** Whether the object is being deleted, and not because of a `clusterctl move`. */
export const isDeletingForGood = (object: ObjectWithMeta): boolean => isDeleting(object) && !isMoving(object);

export const hasFinalizer = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.finalizers?.includes(FINALIZER) ?? false;

/**
 * Whether the object is paused by its annotation. An AWSFargateProfile is also paused while `spec.paused` of its
 * Cluster is true.
 */
export const hasPausedAnnotation = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.annotations?.[PAUSED_ANNOTATION] !== undefined;

/**
 * Whether the Fargate profile and its role stay in AWS when the object is deleted. The retain annotation repeats
 * `spec.deletionPolicy: Retain`, because the API server removes that field under a CRD of another provider. Only an
 * explicit `Delete` overrides the annotation.
 */
export function isRetained({ metadata, spec }: AWSFargateProfile): boolean {
  return (
    spec.deletionPolicy === 'Retain' ||
    (spec.deletionPolicy === undefined && metadata.annotations?.[RETAIN_ANNOTATION] !== undefined)
  );
}
