import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { profileNameFor, roleNameFor } from '../../pkg/fargate/names.ts';

/** The name of the object's profile in EKS: the spec's, or the computed one. */
export function profileNameOf({ spec, metadata }: AWSFargateProfile): ProfileName {
  return spec.profileName ?? profileNameFor(metadata);
}

/** The name of the role that the object makes, or uses by its name; `undefined` where spec.roleARN names one. */
export function roleNameOf(object: AWSFargateProfile): RoleName | undefined {
  const { roleARN, roleName, clusterName } = object.spec;
  if (roleARN !== undefined) return undefined;
  return roleName ?? roleNameFor(clusterName, profileNameOf(object));
}
