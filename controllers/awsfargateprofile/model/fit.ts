import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { isNamedAfter, isSameRoleName } from '../../../pkg/fargate/names.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import { areSubnetsEqual } from '../../../pkg/fargate/subnets.ts';
import type { ObjectIdentity } from './desired-state.ts';

/**
 * Whether a profile has the name and the immutable fields that the spec asks for. Where the spec names no subnets, any
 * are right. Where it names no role, the profile keeps the role that it has, if that is one of this object.
 */
export function fitsSpec(
  { spec }: AWSFargateProfile,
  { profileName, capaRoleNames }: Pick<ObjectIdentity, 'profileName' | 'capaRoleNames'>,
  { name, selectors, subnets, podExecutionRoleArn }: FargateProfile,
  isOwnRole: (name: string) => boolean,
): boolean {
  const { subnetIDs = [], roleARN, roleName } = spec;
  if (!isNamedAfter(name, profileName) || !areSelectorsEqual(spec.selectors ?? [], selectors)) return false;
  if (subnetIDs.length > 0 && !areSubnetsEqual(subnetIDs, subnets)) return false;
  if (roleARN !== undefined) return podExecutionRoleArn === roleARN;
  const role = parseRoleArn(podExecutionRoleArn)?.name;
  if (role === undefined) return false;
  if (roleName !== undefined) return isSameRoleName(roleName, role);
  return capaRoleNames.some((each) => isSameRoleName(each, role)) || isOwnRole(role);
}

/** EKS is removing it, or has failed to create or delete it. */
export const isGoing = ({ status }: Pick<FargateProfile, 'status'>): boolean =>
  status === 'DELETING' || isFailed({ status });

export const isFailed = ({ status }: Pick<FargateProfile, 'status'>): boolean =>
  status === 'CREATE_FAILED' || status === 'DELETE_FAILED';

export const isInTransit = ({ status }: Pick<FargateProfile, 'status'>): boolean =>
  status === 'CREATING' || status === 'DELETING';
