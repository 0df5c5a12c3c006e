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
  /** `undefined` if it does not exist, or has a different kind or namespace. */
  readonly controlPlane: AWSManagedControlPlane | undefined;
}

export interface ControlPlanes {
  /** The control plane in the Cluster's controlPlaneRef. If the Cluster is gone, a control plane that it owned. */
  readonly current: KubeObject | undefined;
  /** All control planes that the Cluster owns, except `current`. */
  readonly former: readonly KubeObject[];
}

/**
 * Reports whether the control plane is being deleted, or the Cluster if it has no control plane. While a control plane
 * exists, the deletion of the Cluster alone does not count, because Cluster API first drains the workers. Returns false
 * while the Cluster is paused, and for a deletion by `clusterctl move`.
 */
export function isTearingDown({ cluster, controlPlane }: ClusterState): boolean {
  if (cluster !== undefined && (cluster.paused || isMoving(cluster))) return false;
  if (controlPlane !== undefined) return isDeletingForGood(controlPlane);
  return cluster !== undefined && isDeletingForGood(cluster);
}

/**
 * Omits profiles that are paused, retained, being moved, or already being deleted. Also omits profiles without their
 * controller's finalizer, which have nothing in AWS: a GitOps tool that creates them during the deletion of the cluster
 * would recreate them after each deletion.
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

export interface FinalizerTask {
  readonly controlPlane: KubeObject;
  readonly action: 'keep' | 'add' | 'remove';
}

/**
 * The Cluster's current control plane needs this controller's finalizer exactly while an AWSFargateProfile of the
 * cluster has its own finalizer. Other control planes that the Cluster owns do not get it, and lose it when no such
 * AWSFargateProfile is left. If one is being deleted, a live list shows whether an AWSFargateProfile is still in its
 * EKS cluster. While the Cluster is paused, all finalizers stay.
 */
export function planFinalizers(
  cluster: Cluster | undefined,
  { current, former }: ControlPlanes,
  profiles: readonly KubeObject[],
): readonly FinalizerTask[] {
  if (cluster?.paused === true) return [];
  const isNeeded = profiles.some(hasFinalizer);
  const tasks: FinalizerTask[] = former
    .filter((each) => hasControlPlaneFinalizer(each) && (!isNeeded || isDeleting(each)))
    .map((controlPlane) => ({ controlPlane, action: 'remove' }));
  if (current === undefined) return tasks;
  const change = isNeeded ? 'add' : 'remove';
  return [
    { controlPlane: current, action: hasControlPlaneFinalizer(current) === isNeeded ? 'keep' : change },
    ...tasks,
  ];
}
