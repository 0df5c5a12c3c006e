import { CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import type { ObjectMeta } from '../../../api/meta.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { RETAIN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { hasFinalizer, isDeleting, isRetained, isDeletingForGood, isMoving } from '../../shared/object-state.ts';
import type { Goal, Target } from '../model/goal-kinds.ts';
import { locationOf } from '../../shared/note.ts';
import type { ReconcileInputs } from './inputs.ts';
import { unreadableReason } from './target-eks-cluster.ts';

/** Cluster API first drains the workers of a deleted Cluster and then deletes the control plane. */
export function isClusterLeaving(inputs: ReconcileInputs): boolean {
  const { controlPlane } = inputs;
  if (controlPlane.kind !== 'found' || isMoving(controlPlane.object)) return false;
  return isDeleting(controlPlane.object) || isClusterDeleted(inputs);
}

/** If the namespace is being deleted, the Cluster will be deleted too, maybe after the object. */
const isClusterDeleted = ({ cluster, isNamespaceTerminating = false }: ReconcileInputs): boolean =>
  isNamespaceTerminating || (cluster.kind === 'found' && isDeletingForGood(cluster.object));

// With `deletionPolicy: Retain`, the profile and its role stay in AWS when their object is deleted. But EKS deletes no
// cluster that has Fargate profiles. So while the EKS cluster is being deleted, the object stays until its profile is
// gone.

export function goalForRetainedDeletion(inputs: ReconcileInputs): Goal | undefined {
  const { object, controlPlane } = inputs;
  if (!isRetained(object) || isClusterLeaving(inputs)) return undefined;
  // Only the control plane shows whether there still is an EKS cluster to delete.
  return controlPlane.kind === 'unknown' && isClusterDeleted(inputs)
    ? { kind: 'hold', reason: unreadableReason(CONTROL_PLANE_KIND, controlPlane) }
    : { kind: 'release' };
}

/**
 * Nothing is changed in AWS, and the profile is reported to block the deletion of the EKS cluster. An object that
 * records no location is left alone until the control plane itself is being deleted.
 */
export function goalForRetainedInLeavingCluster(inputs: ReconcileInputs, target: Target): Goal | undefined {
  const { object, controlPlane } = inputs;
  const isBegun = locationOf(object).kind === 'known';
  const isControlPlaneGoing = controlPlane.kind === 'found' && isDeleting(controlPlane.object);
  if (!isClusterLeaving(inputs) || !isRetained(object) || !hasFinalizer(object)) return undefined;
  return isBegun || isControlPlaneGoing
    ? {
        kind: 'pursue',
        target,
        targetSource: 'controlPlane',
        controlPlaneFacts: undefined,
        surplus: 'retain',
        abandonment: 'removeFinalizer',
      }
    : undefined;
}

/**
 * An annotation repeats `spec.deletionPolicy: Retain`, because an API server with another CRD drops the field. Where the
 * field is absent, the annotation stays: such a write may have removed the field. Where the annotation is lost too, the
 * effective policy in status tells.
 */
export function withRetain(object: AWSFargateProfile): ObjectMeta['annotations'] {
  const { annotations } = object.metadata;
  if (isRetained(object)) return { ...annotations, [RETAIN_ANNOTATION]: annotations?.[RETAIN_ANNOTATION] ?? 'true' };
  const { [RETAIN_ANNOTATION]: _over, ...others } = annotations ?? {};
  return annotations && others;
}
