import type { ObjectMeta } from 'controller-runtime/schema';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import {
  DELETE_FOR_MOVE_ANNOTATION,
  FINALIZER,
  PAUSED_ANNOTATION,
  RETAIN_ANNOTATION,
} from '../../api/v1beta2/index.ts';

type ObjectWithMeta = { readonly metadata: ObjectMeta };

export const isDeleting = ({ metadata }: ObjectWithMeta): boolean => metadata.deletionTimestamp !== undefined;

/** `clusterctl move` is moving the object. What it has in AWS must then stay as it is. */
export const isMoving = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.annotations?.[DELETE_FOR_MOVE_ANNOTATION] !== undefined;

/** Not because of a `clusterctl move`. */
export const isDeletingForGood = (object: ObjectWithMeta): boolean => isDeleting(object) && !isMoving(object);

export const hasFinalizer = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.finalizers?.includes(FINALIZER) ?? false;

/** An AWSFargateProfile is also paused while `spec.paused` of its Cluster is true. */
export const hasPausedAnnotation = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.annotations?.[PAUSED_ANNOTATION] !== undefined;

/**
 * The annotation repeats `spec.deletionPolicy: Retain`, which the API server drops under another provider's CRD. If the
 * annotation is lost too, the policy in status counts. Only an explicit `Delete` overrides it.
 */
export function isRetained({ metadata, spec, status }: AWSFargateProfile): boolean {
  if (spec.deletionPolicy !== undefined) return spec.deletionPolicy === 'Retain';
  return metadata.annotations?.[RETAIN_ANNOTATION] !== undefined || status?.deletionPolicy === 'Retain';
}

/** Whether a new profile takes the place of one that differs from the spec. */
export const isReplaceable = ({ spec }: Pick<AWSFargateProfile, 'spec'>): boolean =>
  spec.updateStrategy?.type === 'Replace';

/** The latch: the profile has once been ACTIVE and as the spec asked for. */
export const isProvisioned = ({ status }: Pick<AWSFargateProfile, 'status'>): boolean =>
  status?.initialization?.provisioned === true;

/** `clusterctl move` drops the status. */
export const isStatusLost = ({ status }: Pick<AWSFargateProfile, 'status'>): boolean => status?.account === undefined;
