import type { ObjectMeta } from '../api/meta.ts';
import type { AWSFargateProfile } from '../api/v1beta2/index.ts';
import { DELETE_FOR_MOVE_ANNOTATION, FINALIZER, PAUSED_ANNOTATION, RETAIN_ANNOTATION } from '../api/v1beta2/index.ts';

type Described = { readonly metadata: ObjectMeta };

export const isDeleting = ({ metadata }: Described): boolean => metadata.deletionTimestamp !== undefined;

/** `clusterctl move` is taking the object to another management cluster: what it stands for is not to be touched. */
export const isMoving = ({ metadata }: Described): boolean =>
  metadata.annotations?.[DELETE_FOR_MOVE_ANNOTATION] !== undefined;

/** It is being deleted for good, and not on its way to another management cluster. */
export const isLeaving = (object: Described): boolean => isDeleting(object) && !isMoving(object);

export const carriesFinalizer = ({ metadata }: Described): boolean => metadata.finalizers?.includes(FINALIZER) ?? false;

/** Paused by itself; its Cluster may pause it too. */
export const hasPausedAnnotation = ({ metadata }: Described): boolean =>
  metadata.annotations?.[PAUSED_ANNOTATION] !== undefined;

/**
 * `spec.deletionPolicy`, or what it was before a CRD without that field was installed over ours and dropped it: the
 * annotation that mirrors it stays, and only an explicit `Delete` overrules it.
 */
export function isRetained({ metadata, spec }: AWSFargateProfile): boolean {
  return (
    spec.deletionPolicy === 'Retain' ||
    (spec.deletionPolicy === undefined && metadata.annotations?.[RETAIN_ANNOTATION] !== undefined)
  );
}
