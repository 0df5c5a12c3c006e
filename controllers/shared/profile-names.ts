import type { ProfileName, RoleName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { isNamedAfter, profileNameFor, roleNameFor } from '../../pkg/fargate/names.ts';
import { type ProfileRecord, currentEntry, managedRolesIn, recordOf } from './record.ts';
import { isReplaceable } from './object-state.ts';

export function profileNameOf({ spec, metadata }: AWSFargateProfile): ProfileName {
  return spec.profileName ?? profileNameFor(metadata);
}

/**
 * Returns the name from which the names of the role and of replacements derive. If a client removes spec.profileName
 * under updateStrategy Reject, this is the name in the record, because EKS cannot rename the profile.
 */
export function baseNameOf(object: AWSFargateProfile, record: ProfileRecord = recordOf(object)): ProfileName {
  const computed = profileNameOf(object);
  if (object.spec.profileName !== undefined || isReplaceable(object)) return computed;
  const recorded = currentEntry(record.profiles)?.name;
  return recorded === undefined || isNamedAfter(recorded, computed) ? computed : recorded;
}

/** Returns the base name or a replacement's name, whichever the record shows as current. */
export function currentProfileNameOf(object: AWSFargateProfile): ProfileName {
  const record = recordOf(object);
  const base = baseNameOf(object, record);
  const recorded = record.profiles.filter(({ name }) => isNamedAfter(name, base));
  return currentEntry(recorded)?.name ?? base;
}

/** Whether the spec names no role. */
export const isRoleComputed = ({ spec }: Pick<AWSFargateProfile, 'spec'>): boolean =>
  spec.roleARN === undefined && spec.roleName === undefined;

/**
 * Returns `undefined` if spec.roleARN is set, or if neither spec nor record contains a cluster: the API server may have
 * dropped the fields under another provider's CRD.
 */
export function roleNameOf(object: AWSFargateProfile): RoleName | undefined {
  const { roleARN, roleName, clusterName, eksCluster } = object.spec;
  if (roleARN !== undefined) return undefined;
  const record = recordOf(object);
  const cluster = clusterName ?? eksCluster?.name ?? (record.in.kind === 'known' ? record.in.eksCluster : undefined);
  return roleName ?? (cluster && roleNameFor(cluster, baseNameOf(object, record)));
}

/**
 * Returns the names of the managed roles that the object uses, as far as the object shows. If the spec has no name,
 * these are first the role of the object's profile, because EKS cannot change it, and then the role of a replacement.
 * `withCheckedRole` puts the profile's role last in the record; the role of a replacement follows it.
 */
export function usedRoleNamesOf(object: AWSFargateProfile): readonly RoleName[] {
  const record = recordOf(object);
  const managed = managedRolesIn(record);
  const last = managed.findLastIndex(({ checked }) => checked === true);
  if (isRoleComputed(object) && record.profiles.length > 0 && last !== -1)
    return managed.slice(last, isReplaceable(object) ? undefined : last + 1).map(({ name }) => name);
  return [roleNameOf(object)].filter((name) => name !== undefined);
}

/** IAM's default path is `/`. */
export const rolePathOf = ({ spec }: Pick<AWSFargateProfile, 'spec'>): string => spec.rolePath ?? '/';
