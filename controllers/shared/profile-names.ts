import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { findProfileNameProblem, isDerivedProfileName, profileNameFor, roleNameFor } from '../../pkg/fargate/names.ts';
import { isReplaceable } from './object-state.ts';

export function profileNameOf({ spec, metadata }: AWSFargateProfile): ProfileName {
  return spec.profileName ?? profileNameFor(metadata);
}

/**
 * The name from which the names of the role and of replacements derive: spec.profileName, or the computed name. A client
 * that removes spec.profileName does not lose the profile, because EKS cannot rename it: the usable name in status then
 * counts, unless the profile may be replaced.
 */
export function baseNameOf(object: AWSFargateProfile): ProfileName {
  const base = profileNameOf(object);
  const recorded = recordedNameOf(object);
  const isOwnName = object.spec.profileName !== undefined || isReplaceable(object);
  return recorded === undefined || isOwnName || isDerivedProfileName(recorded, base) ? base : recorded;
}

/** The name of the profile that the object has, as far as status tells: the base name, or one that derives from it. */
export function currentProfileNameOf(object: AWSFargateProfile): ProfileName {
  const [base, recorded] = [baseNameOf(object), recordedNameOf(object)];
  return recorded !== undefined && isDerivedProfileName(recorded, base) ? recorded : base;
}

function recordedNameOf({ status }: AWSFargateProfile): ProfileName | undefined {
  const recorded = status?.profileName;
  return recorded === undefined || findProfileNameProblem(recorded) !== undefined ? undefined : recorded;
}

/**
 * spec.roleName, or the computed name. `undefined` with spec.roleARN, and if neither spec nor status names a cluster:
 * under another provider's CRD, the API server may have dropped both fields.
 */
export function roleNameOf(object: AWSFargateProfile): RoleName | undefined {
  const { roleARN, roleName, clusterName, eksCluster } = object.spec;
  if (roleARN !== undefined) return undefined;
  const cluster = clusterName ?? eksCluster?.name ?? object.status?.eksClusterName;
  return roleName ?? (cluster && roleNameFor(cluster, baseNameOf(object)));
}
