import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { findProfileNameProblem, profileNameFor, roleNameFor } from '../../pkg/fargate/names.ts';

/** Returns the name that the spec gives to the object's Fargate profile: spec.profileName, or the computed name. */
export function profileNameOf({ spec, metadata }: AWSFargateProfile): ProfileName {
  return spec.profileName ?? profileNameFor(metadata);
}

/**
 * Returns the name of the Fargate profile that the object keeps: spec.profileName, or the name in status if EKS allows
 * this name, or the computed name. If a client removes spec.profileName, the object keeps its profile, because EKS
 * cannot rename a profile.
 */
export function currentProfileNameOf(object: AWSFargateProfile): ProfileName {
  const recorded = object.status?.profileName;
  const isUsable = recorded !== undefined && findProfileNameProblem(recorded) === undefined;
  return object.spec.profileName ?? (isUsable ? recorded : profileNameOf(object));
}

/**
 * Returns the name of the IAM role that the object asks for: spec.roleName, or the computed name. `undefined` if
 * spec.roleARN is set. Also `undefined` if spec.roleName is absent and neither spec nor status names a cluster: the CRD
 * of another provider lacks spec.eksCluster and status.eksClusterName, so the API server may have pruned both fields.
 */
export function roleNameOf(object: AWSFargateProfile): RoleName | undefined {
  const { roleARN, roleName, clusterName, eksCluster } = object.spec;
  if (roleARN !== undefined) return undefined;
  const cluster = clusterName ?? eksCluster?.name ?? object.status?.eksClusterName;
  return roleName ?? (cluster && roleNameFor(cluster, currentProfileNameOf(object)));
}
