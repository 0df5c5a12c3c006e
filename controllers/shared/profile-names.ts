import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { findProfileNameProblem, profileNameFor, roleNameFor } from '../../pkg/fargate/names.ts';

export function profileNameOf({ spec, metadata }: AWSFargateProfile): ProfileName {
  return spec.profileName ?? profileNameFor(metadata);
}

/**
 * spec.profileName, or the usable name in status, or the computed one. A client that removes spec.profileName does not
 * lose the profile, because EKS cannot rename it.
 */
export function currentProfileNameOf(object: AWSFargateProfile): ProfileName {
  const recorded = object.status?.profileName;
  const isUsable = recorded !== undefined && findProfileNameProblem(recorded) === undefined;
  return object.spec.profileName ?? (isUsable ? recorded : profileNameOf(object));
}

/**
 * spec.roleName, or the computed name. `undefined` with spec.roleARN, and if neither spec nor status names a cluster:
 * under another provider's CRD, the API server may have dropped both fields.
 */
export function roleNameOf(object: AWSFargateProfile): RoleName | undefined {
  const { roleARN, roleName, clusterName, eksCluster } = object.spec;
  if (roleARN !== undefined) return undefined;
  const cluster = clusterName ?? eksCluster?.name ?? object.status?.eksClusterName;
  return roleName ?? (cluster && roleNameFor(cluster, currentProfileNameOf(object)));
}
