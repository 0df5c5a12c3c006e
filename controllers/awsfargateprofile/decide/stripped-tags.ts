import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import {
  isSharedByCapa,
  missingProfileTags,
  missingRoleTags,
  profileOwnership,
  roleOwnership,
} from '../../../pkg/fargate/ownership.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { ownershipOf } from './compare.ts';

// Any user of the account who may tag can remove owner tags. The controller neither changes nor deletes such a profile
// or role, because a record in the Kubernetes object proves no ownership. But the object must stay, or the profile
// would block the deletion of its EKS cluster without an owner.

/**
 * A profile counts as the object's own if the object records its ARN, which contains a unique id; if status was dropped
 * and the profile has the object's name in the recorded EKS cluster, and no tag names another owner; or if only a ready
 * control plane could prove that Cluster API Provider AWS created it.
 */
export function strippedProfileReason(desired: Desired, found: FargateProfile): Reason | undefined {
  const { identity, recorded, abandonment } = desired;
  const ownership = ownershipOf(desired, found);
  const tags = missingProfileTags(found.tags, identity);
  if (ownership.kind === 'ours' || tags.length === 0) return undefined;
  const isOfLostRecord = recorded.lostNames.profiles.includes(found.name) && !ownership.claimed;
  const isUnproven = recorded.isUnproven && profileOwnership(found, ifProven(desired)).kind === 'ours';
  const isOnRecord = [recorded.profileARN, ...recorded.replacement.map(({ arn }) => arn)].includes(found.arn);
  return isOnRecord || isOfLostRecord || isUnproven
    ? newReason('OwnershipTagMissing', {
        resource: 'Fargate profile',
        name: found.name,
        tags,
        abandonment,
        about: 'EKSFargateProfileReady',
      })
    : undefined;
}

/** The same three cases as for a profile; a recorded role is known by its unique id. */
export function strippedRoleReason(desired: Desired, found: FoundRole): Reason | undefined {
  const { identity, recorded, abandonment } = desired;
  const ownership = roleOwnership(found, identity);
  const tags = missingRoleTags(found.tags, identity);
  if (ownership.kind === 'ours' || tags.length === 0 || isSharedByCapa(found.name)) return undefined;
  const isOnRecord = recorded.isRoleManaged === true && recorded.roleId === found.id;
  const isOfLostRecord = recorded.lostNames.roles.includes(found.name) && !ownership.claimed;
  const isUnproven = recorded.isUnproven && roleOwnership(found, ifProven(desired)).kind === 'ours';
  return isOnRecord || isOfLostRecord || isUnproven
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
