import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
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
import { isRecorded, ownershipOf } from './compare.ts';

// Every user of the AWS account with the permission to tag can remove owner tags. The controller neither changes nor
// deletes a profile or role without an owner tag, because a record in the Kubernetes object proves no ownership. But an
// object that records such a profile or role must stay. Otherwise the profile or role would stay in AWS without an
// owner, and a profile would block the deletion of its EKS cluster.

/**
 * Returns the reason to stop if a Fargate profile of this object lacks the owner tag; `undefined` for any other
 * profile. The profile counts as a profile of this object in these cases:
 *
 * - The object records the ARN of the profile. The ARN contains a unique id.
 * - Status was dropped, for example by `clusterctl move`. The profile has the name that the object gives its profile,
 *   in the EKS cluster that the annotation `provisioned-in` names. No tag of the profile names another owner.
 * - Cluster API Provider AWS may have created the profile for this object. Only a ready control plane could prove this,
 *   and the control plane is not ready.
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

/**
 * Returns the reason to stop if a managed IAM role of this object lacks the tags of this controller; `undefined` for
 * any other role. The role counts as a role of this object in these cases:
 *
 * - The object records the unique id of the role.
 * - Status was dropped, for example by `clusterctl move`. The role has a name that is computed for this object, and no
 *   tag of the role names another owner.
 * - Cluster API Provider AWS may have created the role for this object. Only a ready control plane could prove this,
 *   and the control plane is not ready.
 */
export function strippedRoleReason(desired: Desired, found: FoundRole): Reason | undefined {
  const { identity, recorded, wanted, abandonment } = desired;
  const ownership = roleOwnership(found, identity);
  const tags = missingRoleTags(found.tags, identity);
  if (ownership.kind === 'ours' || tags.length === 0 || isSharedByCapa(found.name)) return undefined;
  const isOnlyUsed = wanted?.role.kind === 'existing' && isSameRoleName(wanted.role.name, found.name);
  const isOnRecord = isRecorded(desired, found.name) && recorded.isRoleManaged === true && recorded.roleId === found.id;
  const isOfLostRecord = recorded.lostNames.roles.includes(found.name) && !ownership.claimed;
  const isUnproven = recorded.isUnproven && roleOwnership(found, ifProven(desired)).kind === 'ours';
  return !isOnlyUsed && (isOnRecord || isOfLostRecord || isUnproven)
    ? newReason('OwnershipTagMissing', {
        resource: 'IAM role',
        name: found.name,
        tags,
        abandonment,
        about: 'IAMFargateRolesReady',
      })
    : undefined;
}

/**
 * Returns the values by which the controller would recognise the AWS resources of this object if its control plane were
 * ready. Unless adoptionPolicy is `Never`, the field `adoptable` then has all names that Cluster API Provider AWS may
 * have given the profile and role of the object.
 */
const ifProven = ({ identity, adoptionPolicy }: Desired): Desired['identity'] =>
  adoptionPolicy === 'Never'
    ? identity
    : { ...identity, adoptable: { profile: identity.profileName, roles: identity.capaRoleNames } };
