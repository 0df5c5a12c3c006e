import type { ObjectMeta } from '../../api/meta.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import {
  DELETE_FOR_MOVE_ANNOTATION,
  FINALIZER,
  PAUSED_ANNOTATION,
  REPLACEMENT_ANNOTATION,
  RETAIN_ANNOTATION,
  UPDATE_STRATEGY_ANNOTATION,
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
 * The annotation repeats `spec.deletionPolicy: Retain`, which the API server drops under another provider's CRD. Only
 * an explicit `Delete` overrides it.
 */
export function isRetained({ metadata, spec }: AWSFargateProfile): boolean {
  return (
    spec.deletionPolicy === 'Retain' ||
    (spec.deletionPolicy === undefined && metadata.annotations?.[RETAIN_ANNOTATION] !== undefined)
  );
}

/**
 * Whether a new profile takes the place of one that differs from the spec. The annotation repeats
 * `spec.updateStrategy.type: Replace` as long as the field is absent. A replacement that has begun goes on under any
 * strategy.
 */
export function isReplaceable(object: AWSFargateProfile): boolean {
  const { metadata, spec } = object;
  const strategy = spec.updateStrategy?.type ?? metadata.annotations?.[UPDATE_STRATEGY_ANNOTATION];
  const isBegun = metadata.annotations?.[REPLACEMENT_ANNOTATION] !== undefined;
  return strategy === 'Replace' || isBegun || isReplacementRecorded(object);
}

export const isReplacementRecorded = ({ status }: Pick<AWSFargateProfile, 'status'>): boolean =>
  status?.successor !== undefined || (status?.predecessors?.length ?? 0) > 0;
