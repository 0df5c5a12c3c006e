import type { RoleArn } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { type Ownership, profileOwnership, roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { areSelectorsEqual, describeSelectors } from '../../../pkg/fargate/selectors.ts';
import { areSubnetsEqual } from '../../../pkg/fargate/subnets.ts';
import type { Desired, WantedProfile, WantedRole } from '../model/desired-state.ts';
import type { FoundRole, Observed, ObservedProfile, ObservedRole } from '../model/observed-state.ts';

export const findProfile = (profiles: readonly ObservedProfile[], name: string): FargateProfile | undefined =>
  profiles.find((profile) => profile.name === name)?.found;

/**
 * Returns the IAM role with this name if it exists and was read from IAM. Names that differ only in the case of letters
 * are equal.
 */
export const findRole = (roles: readonly ObservedRole[], name: ObservedRole['name']): FoundRole | undefined =>
  foundRoles(roles.filter((role) => isSameRoleName(role.name, name)))[0];

/** Whether the pass has not asked IAM about the roles, so that nothing is known about them. */
export const areRolesUnread = ({ roles }: Pick<Observed, 'roles'>): boolean =>
  roles.some(({ found }) => found === 'unread');

/** Returns the roles that were read from IAM and exist. */
export const foundRoles = (roles: readonly ObservedRole[]): readonly FoundRole[] =>
  roles.flatMap(({ found }) => (found === undefined || found === 'unread' ? [] : [found]));

/**
 * Tells by its tags whether a Fargate profile belongs to this controller. Under adoptionPolicy `Never`, a profile that
 * has only the tag of Cluster API Provider AWS counts as a profile of another owner.
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

/**
 * Returns the names for a condition message about a Fargate profile that the controller deletes or replaces: `name` is
 * the name of this profile, `successor` the name of the profile that the controller creates afterwards, if any.
 */
export const replacementFacts = ({ wanted, creationBlocker }: Desired, { name }: FargateProfile) => ({
  name,
  ...(wanted !== undefined && creationBlocker === undefined && { successor: wanted.profile.name }),
});

/**
 * Returns the ARN of the IAM role that the spec asks for. If spec.roleARN is absent and the role exists, this is its
 * ARN in IAM: a role of another owner may have any path, and the name may be written with other capital letters in IAM
 * than in the spec. But for a role of this controller with another path than the spec asks for, it is the ARN of the
 * role that replaces this role.
 */
export function wantedRoleArn(desired: Desired, observed: Observed, role: WantedRole): RoleArn {
  const found = role.kind === 'managed' ? findRole(observed.roles, role.name) : undefined;
  if (found === undefined || role.kind !== 'managed') return role.arn;
  const isForeign = role.isNamedInSpec && roleOwnership(found, desired.identity).kind === 'foreign';
  return isForeign || !hasOtherPath(role, found) ? found.arn : role.arn;
}

/** Describes each immutable field in which the EKS profile differs from the spec. */
export function describeDifferences(desired: Desired, observed: Observed, found: FargateProfile): readonly string[] {
  if (desired.wanted === undefined) return [];
  const { profile, role } = desired.wanted;
  const roleArn = wantedRoleArn(desired, observed, role);
  return [
    ...(areSelectorsEqual(profile.selectors, found.selectors)
      ? []
      : [
          `selectors are "${describeSelectors(found.selectors)}" in AWS, but "${describeSelectors(profile.selectors)}" in the spec`,
        ]),
    ...(areSubnetsAsWanted(desired, profile, found)
      ? []
      : [`subnets are ${found.subnets.join(', ')} in AWS, but ${profile.subnets.join(', ')} in the spec`]),
    ...(found.podExecutionRoleArn === roleArn
      ? []
      : [`pod execution role is ${found.podExecutionRoleArn} in AWS, but ${roleArn} in the spec`]),
  ];
}

/**
 * Whether the Fargate profile has the wanted subnets. If EKS chooses the subnets, any subnets are right. If
 * spec.subnetIDs is absent, an existing profile of this controller may also have any subnets: the control plane can
 * list other subnets later, and EKS cannot change the subnets of a profile.
 */
export const areSubnetsAsWanted = (desired: Desired, wanted: WantedProfile, found: FargateProfile): boolean =>
  wanted.subnets.length === 0 ||
  areSubnetsEqual(wanted.subnets, found.subnets) ||
  (wanted.subnetSource !== 'spec' && ownershipOf(desired, found).kind === 'ours');

/** Whether a managed IAM role has another path than the spec asks for. IAM cannot change the path of a role. */
export const hasOtherPath = (role: WantedRole, found: FoundRole): boolean =>
  role.kind === 'managed' && role.path !== found.path;

/** Whether `status.role` describes the role with this name. */
export const isRecorded = ({ recorded }: Pick<Desired, 'recorded'>, name: FoundRole['name']): boolean =>
  isSameRoleName(recorded.roleName, name);

/**
 * Whether the IAM role was deleted and created again since status recorded the id of the role, and no user has
 * confirmed by annotation that the EKS access entry was recreated too. The role may belong to another owner.
 */
export const isRecreated = ({ recorded }: Desired, found: FoundRole): boolean =>
  isRecorded({ recorded }, found.name) &&
  recorded.roleId !== undefined &&
  recorded.roleId !== found.id &&
  recorded.accessEntryRenewedFor !== found.id;
