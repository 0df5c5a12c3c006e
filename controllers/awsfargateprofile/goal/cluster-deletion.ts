import { isDeleting, isDeletingForGood, isMoving } from '../../shared/object-state.ts';
import type { ReconcileInputs } from './inputs.ts';

/** Cluster API first drains the workers of a deleted Cluster and then deletes the control plane. */
export function isClusterLeaving(inputs: ReconcileInputs): boolean {
  const { controlPlane } = inputs;
  if (controlPlane.kind !== 'found' || isMoving(controlPlane.object)) return false;
  return isDeleting(controlPlane.object) || isClusterDeleted(inputs);
}

/** If the namespace is being deleted, the Cluster will be deleted too, maybe after the object. */
export const isClusterDeleted = ({ cluster, isNamespaceTerminating = false }: ReconcileInputs): boolean =>
  isNamespaceTerminating || (cluster.kind === 'found' && isDeletingForGood(cluster.object));
