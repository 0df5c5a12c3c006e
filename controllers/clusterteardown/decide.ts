import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import { CLUSTER_KIND, CONTROL_PLANE_KIND } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { keyOf, keyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { hasControlPlaneFinalizer } from '../shared/control-plane-finalizer.ts';
import {
  hasFinalizer,
  hasPausedAnnotation,
  isDeleting,
  isDeletingForGood,
  isMoving,
  isRetained,
} from '../shared/object-state.ts';

/** The objects that decide whether a cluster is torn down. */
export interface ClusterState {
  readonly cluster: Cluster | undefined;
  /** The AWSManagedControlPlane of the Cluster; `undefined` if the Cluster names none, or one of another kind. */
  readonly controlPlane: AWSManagedControlPlane | undefined;
}

/** The AWSManagedControlPlanes of one Cluster. */
export interface ControlPlanes {
  /**
   * The control plane that the Cluster names. If the Cluster no longer exists: a control plane that the Cluster owned.
   */
  readonly current: KubeObject | undefined;
  /** All control planes that the Cluster owns, without the current one. */
  readonly former: readonly KubeObject[];
}

/**
 * Whether the profiles of the cluster are to be deleted now. Cluster API deletes the control plane after it has drained
 * the workers, so the deletion of the control plane decides. Only if there is no control plane, the deletion of the
 * Cluster decides.
 *
 * A paused Cluster is not torn down. A deletion by `clusterctl move` is no teardown.
 */
export function isTearingDown({ cluster, controlPlane }: ClusterState): boolean {
  if (cluster !== undefined && (cluster.paused || isMoving(cluster))) return false;
  if (controlPlane !== undefined) return isDeletingForGood(controlPlane);
  return cluster !== undefined && isDeletingForGood(cluster);
}

/**
 * The profiles that a teardown deletes: those with this controller's finalizer. A profile without the finalizer has
 * nothing in AWS: a GitOps tool has created it again during the teardown, and would create it again after a deletion.
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

/** The kind and key of the object whose deletion started the teardown. */
export const teardownCause = (cluster: ObjectKey, { current }: ControlPlanes): string =>
  current === undefined ? `${CLUSTER_KIND} ${keyText(cluster)}` : `${CONTROL_PLANE_KIND} ${keyText(keyOf(current))}`;

/** What a pass does with the control plane finalizer of one control plane. */
export interface FinalizerTask {
  readonly controlPlane: KubeObject;
  readonly action: 'keep' | 'add' | 'remove';
}

/**
 * Plans where to add and remove the control plane finalizer. The current control plane has this finalizer exactly while
 * a profile of the cluster has the profile finalizer. Former control planes do not get the control plane finalizer, and
 * lose it when no profile has the profile finalizer any more. While the Cluster is paused, all finalizers stay as they
 * are.
 */
export function planFinalizers(
  cluster: Cluster | undefined,
  { current, former }: ControlPlanes,
  profiles: readonly KubeObject[],
): readonly FinalizerTask[] {
  if (cluster?.paused === true) return [];
  const isNeeded = profiles.some(hasFinalizer);
  const controlPlanes = [...(current === undefined ? [] : [current]), ...(isNeeded ? [] : former)];
  return controlPlanes.map((controlPlane) => ({ controlPlane, action: actionFor(controlPlane, isNeeded) }));
}

function actionFor(controlPlane: KubeObject, isNeeded: boolean): FinalizerTask['action'] {
  if (hasControlPlaneFinalizer(controlPlane) === isNeeded) return 'keep';
  return isNeeded ? 'add' : 'remove';
}
