import type { RoleArn } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { describeDifferentFields } from '../../../pkg/fargate/differences.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { type Ownership, profileOwnership, roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { areSubnetsEqual } from '../../../pkg/fargate/subnets.ts';
import type { Desired, WantedProfile, WantedRole } from '../model/desired-state.ts';
import type { FoundRole, Observed, ObservedProfile, ObservedRole } from '../model/observed-state.ts';

export const findProfile = (profiles: readonly ObservedProfile[], name: string): FargateProfile | undefined =>
  profiles.find((profile) => profile.name === name)?.found;

export const findRole = (roles: readonly ObservedRole[], name: ObservedRole['name']): FoundRole | undefined =>
  foundRoles(roles.filter((role) => isSameRoleName(role.name, name)))[0];

export const areRolesUnread = ({ roles }: Pick<Observed, 'roles'>): boolean =>
  roles.some(({ found }) => found === 'unread');

export const foundRoles = (roles: readonly ObservedRole[]): readonly FoundRole[] =>
  roles.flatMap(({ found }) => (found === undefined || found === 'unread' ? [] : [found]));

/**
 * Under adoptionPolicy `Never`, a profile with only the tag of Cluster API Provider AWS counts as one of another owner.
 */
export function ownershipOf(desired: Desired, found: FargateProfile): Ownership {
  const ownership = profileOwnership(found, desired.identity);
  return ownership.kind === 'ours' && !ownership.stamped && desired.adoptionPolicy === 'Never'
    ? {
        kind: 'foreign',
        whose: 'Cluster API Provider AWS, and spec.adoptionPolicy Never forbids its adoption',
        claimed: true,
      }
    : ownership;
}

/** `successor` is the profile that the controller creates afterwards, if any. */
export const replacementFacts = ({ wanted, creationBlocker }: Desired, { name }: FargateProfile) => ({
  name,
  ...(wanted !== undefined && creationBlocker === undefined && { successor: wanted.profile.name }),
});

/**
 * The ARN that IAM has, if the role is found: a role of another owner may have any path, and other capital letters than
 * the spec. But a role of this controller with another path than wanted is replaced, so the wanted ARN counts.
 */
export function wantedRoleArn(desired: Desired, observed: Observed, role: WantedRole): RoleArn {
  const found = findRole(observed.roles, role.name);
  if (found === undefined || role.kind !== 'managed') return role.arn;
  const isForeign = roleOwnership(found, desired.identity).kind === 'foreign';
  return isForeign || !hasOtherPath(role, found) ? found.arn : role.arn;
}

export function describeDifferences(desired: Desired, observed: Observed, found: FargateProfile): readonly string[] {
  if (desired.wanted === undefined) return [];
  const { profile, role } = desired.wanted;
  return describeDifferentFields(
    found,
    {
      selectors: profile.selectors,
      subnets: areSubnetsAsWanted(desired, profile, found) ? undefined : profile.subnets,
      roleArn: wantedRoleArn(desired, observed, role),
    },
    'the spec',
  );
}

/**
 * The control plane can list other subnets later, and EKS cannot change those of a profile. So an existing profile of
 * this controller may have any, unless spec.subnetIDs names them.
 */
export const areSubnetsAsWanted = (desired: Desired, wanted: WantedProfile, found: FargateProfile): boolean =>
  wanted.subnets.length === 0 ||
  areSubnetsEqual(wanted.subnets, found.subnets) ||
  (wanted.subnetSource !== 'spec' && ownershipOf(desired, found).kind === 'ours');

/** IAM cannot change the path of a role. */
export const hasOtherPath = (role: WantedRole, found: FoundRole): boolean =>
  role.kind === 'managed' && role.path !== found.path;

export const isRecorded = ({ recorded }: Pick<Desired, 'recorded'>, name: FoundRole['name']): boolean =>
  isSameRoleName(recorded.roleName, name);

/**
 * The role has another id than status records, and no user has confirmed by annotation that the access entry was
 * recreated too. The role may belong to another owner.
 */
export const isRecreated = ({ recorded }: Desired, found: FoundRole): boolean =>
  isRecorded({ recorded }, found.name) &&
  recorded.roleId !== undefined &&
  recorded.roleId !== found.id &&
  recorded.accessEntryRenewedFor !== found.id;
