import type { RoleArn } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { describeDifferentFields } from '../../../pkg/fargate/differences.ts';
import {
  roleOwnership,
  isSharedByCapa,
  missingProfileTags,
  missingRoleTags,
  profileOwnership,
} from '../../../pkg/fargate/ownership.ts';
import { areSubnetsEqual } from '../../../pkg/fargate/subnets.ts';
import type { Desired, WantedProfile, WantedRole } from '../model/desired-state.ts';
import { type FoundRole, type Observed, findRole } from '../model/observed-state.ts';
import { ownershipOf } from '../model/identity.ts';
import { roleEntryOf, isEntryOf } from '../settle-record.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';

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

/** It has the name and the immutable fields that the spec asks for. */
export const isAsWanted = (desired: Desired, observed: Observed, found: FargateProfile): boolean =>
  desired.wanted?.profile.name === found.name && describeDifferences(desired, observed, found).length === 0;

/**
 * The control plane's subnets can change later, but EKS cannot change a profile's subnets. So unless spec.subnetIDs is
 * set, any subnets are accepted for an existing profile of this controller.
 */
export const areSubnetsAsWanted = (desired: Desired, wanted: WantedProfile, found: FargateProfile): boolean =>
  wanted.subnets.length === 0 ||
  areSubnetsEqual(wanted.subnets, found.subnets) ||
  (wanted.subnetSource !== 'spec' && ownershipOf(desired, found).kind === 'ours');

/** IAM cannot change the path of a role. */
export const hasOtherPath = (role: WantedRole, found: FoundRole): boolean =>
  role.kind === 'managed' && role.path !== found.path;

/**
 * IAM shows another id for the role than the record, so the role was deleted and recreated. No reconcile has
 * checked the access entry of the new role yet. Another owner may have created it.
 */
export function isRecreated({ record }: Pick<Desired, 'record'>, found: FoundRole): boolean {
  const known = roleEntryOf(record, found.name)?.id;
  return known !== undefined && known !== found.id;
}

// Any user of the account who may tag can remove owner tags. The controller neither changes nor deletes such a profile
// or role, because a record in the Kubernetes object proves no ownership. But the object must stay, or the profile
// would block the deletion of its EKS cluster without an owner.

/**
 * A profile counts as the object's own if the record has its unique id, or if only a ready control plane could prove that
 * Cluster API Provider AWS created it.
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

/** As for a profile. */
export function strippedRoleReason(desired: Desired, found: FoundRole): Reason | undefined {
  const { identity, record, abandonment } = desired;
  const tags = missingRoleTags(found.tags, identity);
  if (roleOwnership(found, identity).kind === 'ours' || tags.length === 0 || isSharedByCapa(found.name))
    return undefined;
  const entry = roleEntryOf(record, found.name);
  const isOnRecord = entry?.id === found.id && entry.managed !== false;
  const isUnproven = desired.isUnproven && roleOwnership(found, ifProven(desired)).kind === 'ours';
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
  roleOwnership(found, desired.identity).kind === 'ours' || strippedRoleReason(desired, found) !== undefined;

/** The identity that the object would have if its control plane were ready. */
const ifProven = ({ identity, adoptionPolicy }: Desired): Desired['identity'] =>
  adoptionPolicy === 'Never'
    ? identity
    : { ...identity, adoptable: { profile: identity.profileName, roles: identity.capaRoleNames } };
