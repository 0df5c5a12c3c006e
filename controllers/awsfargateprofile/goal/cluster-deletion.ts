import { isDeleting, isDeletingForGood, isMoving } from '../../shared/object-state.ts';
import type { ReconcileInputs } from './inputs.ts';

/**
 * Whether the EKS cluster is going to be deleted, because the control plane or the Cluster is being deleted. When a
 * Cluster is deleted, Cluster API first drains the workers and then deletes the control plane. The result is false if
 * the control plane was not found, or if `clusterctl move` is moving it.
 */
export function isClusterLeaving(inputs: ReconcileInputs): boolean {
  const { controlPlane } = inputs;
  if (controlPlane.kind !== 'found' || isMoving(controlPlane.object)) return false;
  return isDeleting(controlPlane.object) || isClusterDeleted(inputs);
}

/**
 * Whether the Cluster is being deleted for good, and is not only being moved by `clusterctl move`. If the namespace is
 * being deleted, the Cluster will be deleted too, maybe after the object.
 */
export const isClusterDeleted = ({ cluster, isNamespaceTerminating = false }: ReconcileInputs): boolean =>
  isNamespaceTerminating || (cluster.kind === 'found' && isDeletingForGood(cluster.object));
