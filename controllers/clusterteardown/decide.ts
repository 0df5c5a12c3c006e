import { keyOf, keyText, type KubeObject, type ObjectKey } from 'controller-runtime/client';
import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import { CLUSTER_KIND, CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { hasControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import {
  hasFinalizer,
  hasPausedAnnotation,
  isDeleting,
  isDeletingForGood,
  isMoving,
  isRetained,
} from '../shared/object-state.ts';

export interface ClusterState {
  readonly cluster: Cluster | undefined;
  /** `undefined` if it does not exist, or is of another kind or in another namespace. */
  readonly controlPlane: AWSManagedControlPlane | undefined;
}

export interface ControlPlanes {
  /** The control plane that the Cluster names; one that it owned if the Cluster no longer exists. */
  readonly current: KubeObject | undefined;
  /** All control planes that the Cluster owns, except the one in the field `current`. */
  readonly former: readonly KubeObject[];
}

/**
 * Cluster API deletes the control plane after it has drained the workers, so the deletion of the control plane decides,
 * and that of the Cluster only without a control plane. False while the Cluster is paused, and for a deletion by
 * `clusterctl move`.
 */
export function isTearingDown({ cluster, controlPlane }: ClusterState): boolean {
  if (cluster !== undefined && (cluster.paused || isMoving(cluster))) return false;
  if (controlPlane !== undefined) return isDeletingForGood(controlPlane);
  return cluster !== undefined && isDeletingForGood(cluster);
}

/**
 * Leaves out AWSFargateProfiles that are already being deleted, paused, being moved or retained; also those without
 * their controller's finalizer, which have nothing in AWS: a GitOps tool that creates them during the deletion of the
 * cluster would create them again after each deletion.
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

export const teardownCause = (cluster: ObjectKey, { current }: ControlPlanes): string =>
  current === undefined ? `${CLUSTER_KIND} ${keyText(cluster)}` : `${CONTROL_PLANE_KIND} ${keyText(keyOf(current))}`;

/** The action for this controller's finalizer on one control plane. */
export interface FinalizerTask {
  readonly controlPlane: KubeObject;
  readonly action: 'keep' | 'add' | 'remove';
}

/**
 * The control plane that the Cluster names needs this controller's finalizer exactly while an AWSFargateProfile of the
 * cluster has its own. Other control planes that the Cluster owns do not get it, and lose it when no such
 * AWSFargateProfile is left. While the Cluster is paused, all finalizers stay.
 */
export function planFinalizers(
  cluster: Cluster | undefined,
  { current, former }: ControlPlanes,
  profiles: readonly KubeObject[],
): readonly FinalizerTask[] {
  if (cluster?.paused === true) return [];
  const isNeeded = profiles.some(hasFinalizer);
  const controlPlanes = [...(current === undefined ? [] : [current]), ...(isNeeded ? [] : former)];
  const change = isNeeded ? 'add' : 'remove';
  return controlPlanes.map((controlPlane) => ({
    controlPlane,
    action: hasControlPlaneFinalizer(controlPlane) === isNeeded ? 'keep' : change,
  }));
}
