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
import { ownershipOf } from '../model/ownership.ts';
import { isEntryOf, roleEntryOf } from '../note.ts';

// Any user of the account who may tag can remove owner tags. The controller neither changes nor deletes such a profile
// or role, because a record in the Kubernetes object proves no ownership. But the object must stay, or the profile
// would block the deletion of its EKS cluster without an owner.

/**
 * A profile counts as the object's own if the note has its unique id, or if only a ready control plane could prove that
 * Cluster API Provider AWS created it.
 */
export function strippedProfileReason(desired: Desired, found: FargateProfile): Reason | undefined {
  const { identity, note, abandonment } = desired;
  const tags = missingProfileTags(found.tags, identity);
  if (ownershipOf(desired, found).kind === 'ours' || tags.length === 0) return undefined;
  const isUnproven = desired.isUnproven && profileOwnership(found, ifProven(desired)).kind === 'ours';
  return isEntryOf(note.profiles, found) || isUnproven
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
  const { identity, note, abandonment } = desired;
  const tags = missingRoleTags(found.tags, identity);
  if (roleOwnership(found, identity).kind === 'ours' || tags.length === 0 || isSharedByCapa(found.name))
    return undefined;
  const entry = roleEntryOf(note, found.name);
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
