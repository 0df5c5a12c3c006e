import { CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import type { ObjectMeta } from '../../../api/meta.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { REPLACEMENT_ANNOTATION, RETAIN_ANNOTATION, UPDATE_STRATEGY_ANNOTATION } from '../../../api/v1beta2/index.ts';
import { hasFinalizer, isDeleting, isRetained } from '../../shared/object-state.ts';
import type { Goal, Target } from '../model/goal-kinds.ts';
import { locationOf } from '../model/location.ts';
import { formatReplacement, recordedReplacement } from '../model/replacement.ts';
import { isClusterDeleted, isClusterLeaving } from './cluster-deletion.ts';
import type { ReconcileInputs } from './inputs.ts';
import { unreadableReason } from './target-eks-cluster.ts';

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

/** Annotations repeat what `clusterctl move`, or an API server with another CRD, drops. */
export function withMirrors(object: AWSFargateProfile): ObjectMeta['annotations'] {
  const { spec, status } = object;
  let annotations = withRetainAnnotation(object);
  if (spec.updateStrategy?.type !== undefined)
    annotations = withAnnotation(
      annotations,
      UPDATE_STRATEGY_ANNOTATION,
      spec.updateStrategy.type === 'Replace' ? 'Replace' : undefined,
    );
  if (status?.account === undefined) return annotations;
  const profiles = recordedReplacement(object);
  return withAnnotation(
    annotations,
    REPLACEMENT_ANNOTATION,
    profiles.length === 0 ? undefined : formatReplacement(profiles),
  );
}

function withAnnotation(
  annotations: ObjectMeta['annotations'],
  key: string,
  value: string | undefined,
): ObjectMeta['annotations'] {
  const { [key]: before, ...others } = annotations ?? {};
  if (before === value) return annotations;
  return value === undefined ? others : { ...annotations, [key]: value };
}

/** Without deletionPolicy the annotation stays: a write under a CRD without the field may have removed it. */
function withRetainAnnotation({ metadata, spec }: AWSFargateProfile): ObjectMeta['annotations'] {
  const { [RETAIN_ANNOTATION]: mirror, ...others } = metadata.annotations ?? {};
  if (spec.deletionPolicy === 'Retain') return { ...metadata.annotations, [RETAIN_ANNOTATION]: mirror ?? 'true' };
  return spec.deletionPolicy === 'Delete' ? others : metadata.annotations;
}
