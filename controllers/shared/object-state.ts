import { fieldAt } from 'controller-runtime/json';
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

/** During a `clusterctl move`, the object's AWS resources must be left alone. */
export const isMoving = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.annotations?.[DELETE_FOR_MOVE_ANNOTATION] !== undefined;

export const isDeletingForGood = (object: ObjectWithMeta): boolean => isDeleting(object) && !isMoving(object);

export const hasFinalizer = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.finalizers?.includes(FINALIZER) ?? false;

/** An AWSFargateProfile is also paused while its Cluster's `spec.paused` is true: see goal/goal.ts. */
export const hasPausedAnnotation = ({ metadata }: ObjectWithMeta): boolean =>
  metadata.annotations?.[PAUSED_ANNOTATION] !== undefined;

/**
 * An annotation repeats `spec.deletionPolicy: Retain`, because the API server drops this field under another provider's
 * CRD. If the annotation is lost too, the policy in status counts. Only an explicit `Delete` overrides them.
 */
export function isRetained({ metadata, spec, status }: AWSFargateProfile): boolean {
  if (spec.deletionPolicy !== undefined) return spec.deletionPolicy === 'Retain';
  return metadata.annotations?.[RETAIN_ANNOTATION] !== undefined || status?.deletionPolicy === 'Retain';
}

/** Whether the controller replaces a profile that differs from the spec, instead of reporting it. */
export const isReplaceable = ({ spec }: Pick<AWSFargateProfile, 'spec'>): boolean =>
  spec.updateStrategy?.type === 'Replace';

/** Whether the profile has ever been ACTIVE and matched the spec. Once true, this stays true. */
export const isProvisioned = ({ status }: Pick<AWSFargateProfile, 'status'>): boolean =>
  status?.initialization?.provisioned === true;

/** Whether the API server rejects changes to the fields that EKS cannot change. */
export const isSpecFixed = (object: AWSFargateProfile): boolean => isProvisioned(object) && !isReplaceable(object);

/** `clusterctl move` drops the status. */
export const isStatusLost = ({ status }: Pick<AWSFargateProfile, 'status'>): boolean => status?.account === undefined;

/** Returns the conditions of a status that was not decoded. */
export function rawConditions(status: unknown): readonly unknown[] {
  const conditions = fieldAt(status, 'conditions');
  return Array.isArray(conditions) ? conditions : [];
}
