import type { AWSManagedControlPlane, Cluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { carriesFinalizer, hasPausedAnnotation, isDeleting, isLeaving, isMoving, isRetained } from '../standing.ts';

/** What a teardown is decided on. */
export interface Situation {
  readonly cluster: Cluster | undefined;
  /** The AWSManagedControlPlane that the Cluster names; absent where there is none or it is of another kind. */
  readonly controlPlane: AWSManagedControlPlane | undefined;
}

/**
 * Whether the cluster's profiles have to go now. The control plane is deleted after the workers are drained, so its
 * deletion is the moment; the Cluster's own counts only where there is no control plane to wait for.
 *
 * Nothing goes while the Cluster is paused, nor because clusterctl takes an object away to another management cluster.
 */
export function isTearingDown({ cluster, controlPlane }: Situation): boolean {
  if (cluster !== undefined && (cluster.paused || isMoving(cluster))) return false;
  if (controlPlane !== undefined) return isLeaving(controlPlane);
  return cluster !== undefined && isLeaving(cluster);
}

/**
 * The profiles that the cascade deletes: those that carry our finalizer. One without it has nothing in AWS and was put
 * there again by somebody (Git) during the teardown; to delete it would only bring it back.
 */
export function profilesToDelete(
  situation: Situation,
  profiles: readonly AWSFargateProfile[],
): readonly AWSFargateProfile[] {
  return isTearingDown(situation) ? profiles.filter(mayBeDeleted) : [];
}

const mayBeDeleted = (profile: AWSFargateProfile): boolean =>
  carriesFinalizer(profile) &&
  !isDeleting(profile) &&
  !isMoving(profile) &&
  !hasPausedAnnotation(profile) &&
  !isRetained(profile);
