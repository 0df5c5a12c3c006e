import type { AdoptionPolicy } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { type Ownership, profileOwnership, roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { type PlanPart, change } from '../model/change.ts';
import type { Desired, DesiredProfile } from '../model/desired-state.ts';
import { isStamped, ownershipOf } from '../model/owner.ts';
import { type Observed, findProfile, findRole, foundRoles } from '../model/observed-state.ts';
import { ACTIVE } from '../model/profile-status.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { profileDrift } from './ensure-profile.ts';
import { roleDrift } from './ensure-role.ts';

/** Nothing is adopted yet if no ready control plane proves that the EKS cluster belongs to the object's namespace. */
export function findAdoptionBlocker(desired: Desired, observed: Observed, profile: DesiredProfile): Reason | undefined {
  const isUnstamped = (ownership: Ownership): boolean => ownership.kind === 'ours' && !ownership.stamped;
  const isAdopted = observed.profiles.some((found) => {
    const ownership = ownershipOf(desired, found);
    return isUnstamped(ownership) || (ownership.kind === 'foreign' && found.name === profile.name);
  });
  return isAdopted || foundRoles(observed.roles).some((found) => isUnstamped(roleOwnership(found, desired.identity)))
    ? desired.creationBlocker
    : undefined;
}

/** Returns what prevents an adoption. `undefined` if adoptionPolicy or another owner's tag forbids it anyway. */
export function findAdoptionObstacles(
  desired: Desired,
  ownership: Extract<Ownership, { kind: 'foreign' }>,
  found: FargateProfile,
  differences: readonly string[],
): readonly string[] | undefined {
  if (desired.identity.adoptionPolicy !== 'Always' || ownership.claimed) return undefined;
  return found.status === ACTIVE ? differences : [`status is ${found.status} instead of ACTIVE`, ...differences];
}

/** The adoptionPolicy with which the controller would adopt the profile. `undefined` if a tag names another owner. */
export function adoptionPolicyFor(
  desired: Desired,
  { claimed }: Extract<Ownership, { kind: 'foreign' }>,
  found: FargateProfile,
): AdoptionPolicy | undefined {
  if (!claimed) return 'Always';
  return profileOwnership(found, desired.identity).kind === 'ours' ? 'Owned' : undefined;
}

/** The tag that adopts a profile or role is the only change of its plan, because AWS must be read again after it. */
export function* adopt(desired: Desired, observed: Observed): PlanPart {
  if (desired.profile === undefined) return undefined;
  const profile = findProfile(observed.profiles, desired.profile.name);
  if (profile?.status === ACTIVE && !isStamped(desired, profile)) {
    const [tag] = profileDrift(desired.profile, profile);
    if (tag !== undefined) yield change(tag.mutation);
    return newReason('ReadAgain', { because: 'the profile was adopted' });
  }
  const role = findRole(observed.roles, desired.role.name);
  if (role === undefined || desired.role.kind !== 'managed') return undefined;
  const ownership = roleOwnership(role, desired.identity);
  if (ownership.kind !== 'ours' || ownership.stamped) return undefined;
  const [tag] = roleDrift(desired, observed, desired.role, role);
  if (tag !== undefined) yield change(tag.mutation);
  return newReason('ReadAgain', { because: 'the role was adopted' });
}
