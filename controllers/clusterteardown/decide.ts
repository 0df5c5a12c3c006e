import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import { CLUSTER_KIND, CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { hasControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import {
  hasFinalizer,
  hasPausedAnnotation,
  isDeleting,
  isDeletingForGood,
  isMoving,
  isRetained,
} from '../shared/object-state.ts';

/** The objects that decide whether a cluster is being deleted. */
export interface ClusterState {
  readonly cluster: Cluster | undefined;
  /**
   * The AWSManagedControlPlane of the Cluster. `undefined` if the Cluster names no control plane, a control plane of
   * another kind or in another namespace, or a control plane that does not exist.
   */
  readonly controlPlane: AWSManagedControlPlane | undefined;
}

/** The AWSManagedControlPlanes of one Cluster. */
export interface ControlPlanes {
  /**
   * The control plane that the Cluster names. If the Cluster no longer exists, this is a control plane that the Cluster
   * owned.
   */
  readonly current: KubeObject | undefined;
  /** All control planes that the Cluster owns, except the one in the field `current`. */
  readonly former: readonly KubeObject[];
}

/**
 * Whether the AWSFargateProfiles of the cluster must be deleted now. Cluster API deletes the control plane after it has
 * drained the workers, so the deletion of the control plane decides. Only if there is no control plane, the deletion of
 * the Cluster decides.
 *
 * The result is false while the Cluster is paused, and for a deletion by `clusterctl move`.
 */
export function isTearingDown({ cluster, controlPlane }: ClusterState): boolean {
  if (cluster !== undefined && (cluster.paused || isMoving(cluster))) return false;
  if (controlPlane !== undefined) return isDeletingForGood(controlPlane);
  return cluster !== undefined && isDeletingForGood(cluster);
}

/**
 * Returns the AWSFargateProfiles to delete because their cluster is being deleted. AWSFargateProfiles that are already
 * being deleted, paused, being moved or retained are left out.
 *
 * AWSFargateProfiles without the finalizer of their own controller are left out too, because they have nothing in AWS.
 * If a GitOps tool created them during the deletion of the cluster, it would create them again after each deletion.
 */
export function profilesToDelete(
  state: ClusterState,
  profiles: readonly AWSFargateProfile[],
): readonly AWSFargateProfile[] {
  return isTearingDown(state) ? profiles.filter(isDeletable) : [];
}

const isDeletable = (profile: AWSFargateProfile): boolean =>
  hasFinalizer(profile) &&
  !isDeleting(profile) &&
  !isMoving(profile) &&
  !hasPausedAnnotation(profile) &&
  !isRetained(profile);

/**
 * Returns the kind and key of the object whose deletion causes the deletion of the AWSFargateProfiles: the current
 * control plane, or the Cluster if no current control plane exists.
 */
export const teardownCause = (cluster: ObjectKey, { current }: ControlPlanes): string =>
  current === undefined ? `${CLUSTER_KIND} ${keyText(cluster)}` : `${CONTROL_PLANE_KIND} ${keyText(keyOf(current))}`;

/** The action for this controller's finalizer on one control plane. */
export interface FinalizerTask {
  readonly controlPlane: KubeObject;
  readonly action: 'keep' | 'add' | 'remove';
  /**
   * An AWSFargateProfile that has the finalizer of AWSFargateProfiles and that this manager cannot decode, so that it
   * cannot delete the AWSFargateProfile.
   */
  readonly undecodable?: KubeObject | undefined;
}

/**
 * Decides which control planes need this controller's finalizer. The control plane that the Cluster names needs it
 * exactly while an AWSFargateProfile of the cluster still has the finalizer of AWSFargateProfiles. Other control planes
 * that the Cluster owns do not get it, and lose it when no AWSFargateProfile with a finalizer is left. While the
 * Cluster is paused, all finalizers stay as they are.
 */
export function planFinalizers(
  cluster: Cluster | undefined,
  { current, former }: ControlPlanes,
  profiles: readonly KubeObject[],
  undecodable?: KubeObject,
): readonly FinalizerTask[] {
  if (cluster?.paused === true) return [];
  const isNeeded = profiles.some(hasFinalizer);
  const controlPlanes = [...(current === undefined ? [] : [current]), ...(isNeeded ? [] : former)];
  return controlPlanes.map((controlPlane) => ({
    controlPlane,
    action: actionFor(controlPlane, isNeeded),
    ...(undecodable && { undecodable }),
  }));
}

function actionFor(controlPlane: KubeObject, isNeeded: boolean): FinalizerTask['action'] {
  if (hasControlPlaneFinalizer(controlPlane) === isNeeded) return 'keep';
  return isNeeded ? 'add' : 'remove';
}
