import { CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import type { ObjectMeta } from '../../../api/meta.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { REPLACEMENT_ANNOTATION, RETAIN_ANNOTATION, UPDATE_STRATEGY_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { hasFinalizer, isDeleting, isRetained, isDeletingForGood, isMoving } from '../../shared/object-state.ts';
import type { Goal, Target } from '../model/goal-kinds.ts';
import { locationOf } from '../model/location.ts';
import { formatReplacement, recordedReplacement } from '../model/replacement.ts';
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
 * Annotations repeat what `clusterctl move`, or an API server with another CRD, drops. Where the field itself is absent,
 * its annotation stays: such a write may have removed the field.
 */
export function withMirrors(object: AWSFargateProfile): ObjectMeta['annotations'] {
  const { metadata, spec, status } = object;
  const { annotations = {} } = metadata;
  const { deletionPolicy, updateStrategy: { type: strategy } = {} } = spec;
  // `undefined` leaves an annotation, `false` removes it.
  const mirrors: Readonly<Record<string, string | false | undefined>> = {
    [RETAIN_ANNOTATION]: deletionPolicy && deletionPolicy === 'Retain' && (annotations[RETAIN_ANNOTATION] ?? 'true'),
    [UPDATE_STRATEGY_ANNOTATION]: strategy && strategy === 'Replace' && strategy,
    [REPLACEMENT_ANNOTATION]: status?.account && (formatReplacement(recordedReplacement(object)) || false),
  };
  const all = new Map(Object.entries(annotations));
  for (const [key, value] of Object.entries(mirrors))
    if (value === false) all.delete(key);
    else if (value !== undefined) all.set(key, value);
  return all.size > 0 ? Object.fromEntries(all) : metadata.annotations && {};
}
