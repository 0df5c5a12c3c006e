import type { RoleArn } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { describeDifferentFields } from '../../../pkg/fargate/differences.ts';
import {
  isSharedByCapa,
  missingProfileTags,
  missingRoleTags,
  profileOwnership,
} from '../../../pkg/fargate/ownership.ts';
import { areSubnetsEqual } from '../../../pkg/fargate/subnets.ts';
import type { Desired, DesiredProfile, DesiredRole } from '../model/desired-state.ts';
import { type FoundRole, type Observed, findRole } from '../model/observed-state.ts';
import { isRoleTaggedOurs, ownershipOf } from '../model/owner.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { roleEntryOf, isEntryOf } from '../../shared/record.ts';

/** Returns facts for a message. `successor` is the profile that the controller creates afterwards, if any. */
export const replacementFacts = ({ profile, creationBlocker }: Desired, { name }: FargateProfile) => ({
  name,
  ...(profile !== undefined && creationBlocker === undefined && { successor: profile.name }),
});

/**
 * Returns the role ARN that the profile should have. If IAM has the role, this is the ARN in IAM, because another
 * owner's role may have any path, and a name that differs in case from the spec. But if this controller's own role has
 * the wrong path, the controller recreates the role, so this is the new role's ARN.
 */
export function desiredRoleArn(desired: Desired, observed: Observed, role: DesiredRole): RoleArn {
  const found = findRole(observed.roles, role.name);
  if (found === undefined || role.kind !== 'managed') return role.arn;
  return !isRoleTaggedOurs(desired, found) || !hasOtherPath(role, found) ? found.arn : role.arn;
}

export function describeDifferences(desired: Desired, observed: Observed, found: FargateProfile): readonly string[] {
  const { profile, role } = desired;
  if (profile === undefined) return [];
  const isRoleFromSpec = role.kind === 'existing' || role.isNamedInSpec || role.path !== '/';
  return describeDifferentFields(
    found,
    {
      selectors: profile.selectors,
      subnets: areSubnetsAsDesired(desired, profile, found) ? undefined : profile.subnets,
      roleArn: desiredRoleArn(desired, observed, role),
    },
    'in the spec',
    {
      ...(profile.subnetSource !== 'spec' && { subnets: 'in the control plane (spec.subnetIDs is not set)' }),
      ...(!isRoleFromSpec && { roleArn: 'by default (spec.roleARN is not set)' }),
    },
  );
}

/** Reports whether the name and the immutable fields match the spec. */
export const isAsDesired = (desired: Desired, observed: Observed, found: FargateProfile): boolean =>
  desired.profile?.name === found.name && describeDifferences(desired, observed, found).length === 0;

/**
 * The control plane's subnets can change later, but EKS cannot change a profile's subnets. So unless spec.subnetIDs is
 * set, any subnets are accepted for an existing profile of this controller.
 */
export const areSubnetsAsDesired = (desired: Desired, profile: DesiredProfile, found: FargateProfile): boolean =>
  profile.subnets.length === 0 ||
  areSubnetsEqual(profile.subnets, found.subnets) ||
  (profile.subnetSource !== 'spec' && ownershipOf(desired, found).kind === 'ours');

/** IAM cannot change a role's path. */
export const hasOtherPath = (role: DesiredRole, found: FoundRole): boolean =>
  role.kind === 'managed' && role.path !== found.path;

// Any user of the account who is allowed to change tags can remove owner tags. The controller neither changes nor
// deletes a profile or role without its owner tags, because a record in the Kubernetes object does not prove ownership.
// But the Kubernetes object must be kept: otherwise nothing would show why the profile blocks the deletion of its EKS
// cluster.

/**
 * Returns a reason if a profile without owner tags counts as the object's: the record contains its unique ID, or
 * Cluster API Provider AWS may have created it, which only a ready control plane could prove.
 */
export function strippedProfileReason(desired: Desired, found: FargateProfile): Reason | undefined {
  const { identity, record, abandonment } = desired;
  const tags = missingProfileTags(found.tags, identity);
  if (ownershipOf(desired, found).kind === 'ours' || tags.length === 0) return undefined;
  const isUnproven = desired.isUnproven && profileOwnership(found, ifProven(desired)).kind === 'ours';
  return isEntryOf(record.profiles, found) || isUnproven
    ? newReason('OwnershipTagMissing', {
        resource: 'Fargate profile',
        name: found.name,
        tags,
        abandonment,
        about: 'EKSFargateProfileReady',
      })
    : undefined;
}

/** Does the same as {@link strippedProfileReason} for a role. */
export function strippedRoleReason(desired: Desired, found: FoundRole): Reason | undefined {
  const { identity, record, abandonment } = desired;
  const tags = missingRoleTags(found.tags, identity);
  if (isRoleTaggedOurs(desired, found) || tags.length === 0 || isSharedByCapa(found.name)) return undefined;
  const entry = roleEntryOf(record, found.name);
  const isOnRecord = entry?.id === found.id && entry.managed !== false;
  const isUnproven = desired.isUnproven && isRoleTaggedOurs({ identity: ifProven(desired) }, found);
  return isOnRecord || isUnproven
    ? newReason('OwnershipTagMissing', {
        resource: 'IAM role',
        name: found.name,
        tags,
        abandonment,
        about: 'IAMFargateRolesReady',
      })
    : undefined;
}

export const isRoleOurs = (desired: Desired, found: FoundRole): boolean =>
  isRoleTaggedOurs(desired, found) || strippedRoleReason(desired, found) !== undefined;

/**
 * Returns the identity that the object would have if its control plane were ready: it could then also adopt the profile
 * and roles with the names that Cluster API Provider AWS uses, unless adoptionPolicy forbids any adoption.
 */
const ifProven = ({ identity }: Desired): Desired['identity'] =>
  identity.adoptionPolicy === 'Never'
    ? identity
    : { ...identity, adoptable: { profile: identity.profileName, roles: identity.capaRoleNames } };
