import type { AdoptionPolicy } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { type Ownership, isSharedByCapa, profileOwnership, roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { type TrustCheck, checkTrust } from '../../../pkg/fargate/trust-policy.ts';
import { describeDifferences, foundRoles, isRecorded, ownershipOf, findProfile, findRole } from './compare.ts';
import { findLimitBlocker } from './operator-limit-blocker.ts';
import type { Desired, ExistingRole, WantedProfile } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { enumerated } from '../reasons/wording/phrases.ts';
import { findRolePathBlocker } from './role-path.ts';
import { strippedProfileReason, strippedRoleReason } from './stripped-tags.ts';

/**
 * Returns the reason to stop if the controller may not change AWS for the object, for example because its Fargate
 * profile belongs to another owner. `undefined` if changes are allowed.
 */
export function findBlocker(desired: Desired, observed: Observed): Reason | undefined {
  if (desired.wanted === undefined) return findAccountBlocker(desired, observed);
  const { region, account } = desired.place;
  if (observed.cluster === 'gone') {
    const { eksCluster: cluster, clusterName } = desired.identity;
    const isOfObject = clusterName === undefined;
    return newReason('EKSClusterNotFound', { cluster, region, account, isOfObject });
  }
  const { profile } = desired.wanted;
  const found = findProfile(observed.profiles, profile.name);
  const isToBeMade = found === undefined || describeDifferences(desired, observed, found).length > 0;
  return (
    findProfileBlocker(desired, observed, profile) ??
    // The limits come before the role: an object that may not name a role learns nothing about it, and its trust policy
    // is not evaluated.
    (isToBeMade ? (findEmptyFieldBlocker(desired) ?? findLimitBlocker(desired, observed)) : undefined) ??
    findRoleBlocker(desired, observed) ??
    findAdoptionBlocker(desired, observed, profile) ??
    (isToBeMade ? findRolePathBlocker(desired, observed) : undefined)
  );
}

function findEmptyFieldBlocker({ emptySelectorFields: fields }: Desired): Reason | undefined {
  if (fields.length === 0) return undefined;
  const detail = `${enumerated(fields)} has no value in the manifest that kubectl has applied, so the selector would match more pods than the manifest says. The empty value is written ""`;
  return newReason('InvalidSpec', { detail });
}

/**
 * Returns the reason to wait for a ready control plane if the controller would adopt an existing profile or role.
 * Only a ready control plane proves that the EKS cluster belongs to the namespace of the object.
 */
function findAdoptionBlocker(desired: Desired, observed: Observed, wanted: WantedProfile): Reason | undefined {
  if (desired.creationBlocker === undefined) return undefined;
  const isUnstamped = (ownership: Ownership): boolean => ownership.kind === 'ours' && !ownership.stamped;
  const isAdopted = observed.profiles.some(({ name, found }) => {
    if (found === undefined) return false;
    const ownership = ownershipOf(desired, found);
    return isUnstamped(ownership) || (ownership.kind === 'foreign' && name === wanted.name);
  });
  return isAdopted || foundRoles(observed.roles).some((found) => isUnstamped(roleOwnership(found, desired.identity)))
    ? desired.creationBlocker
    : undefined;
}

/**
 * Returns the reason to stop if a missing EKS cluster does not prove that the object's profile is gone. EKS answers
 * "no such cluster" also if the cluster is in another AWS account than the credentials. So a missing cluster completes
 * a deletion only if the object records the account of its cluster, or records that nothing was created
 * (docs/adr/0011). With `deletionPolicy: Retain`, no such proof is needed.
 */
function findAccountBlocker(
  { surplus, recorded, identity, place, names, broughtRole }: Desired,
  { cluster }: Observed,
): Reason | undefined {
  if (surplus === 'retain' || cluster === 'there' || recorded.location !== 'unknown') return undefined;
  const { clusterName, eksCluster, profileName: profile } = identity;
  const isOfObject = clusterName === undefined;
  // The first name is the one that the spec asks for. The others depend on status, which this object has lost.
  const role = broughtRole === undefined ? names.roles[0] : undefined;
  return newReason('AccountUncertain', { cluster: eksCluster, ...place, profile, role, isOfObject });
}

/**
 * Returns the reason to stop if the existing Fargate profile may not be changed: the profile belongs to another
 * owner, is provisioned under another name than the spec asks for, or is ACTIVE and differs from the spec in fields
 * that EKS cannot change. An unfinished profile that differs from the spec does not stop the controller, which replaces
 * it.
 */
export function findProfileBlocker(desired: Desired, observed: Observed, wanted: WantedProfile): Reason | undefined {
  const former = desired.isReplaceable ? undefined : findFormerProfile(desired, observed, wanted);
  if (former !== undefined) {
    const field = `the name is ${former.name} in AWS, but ${wanted.name} in the spec`;
    return newReason('SpecDiffers', { name: former.name, fields: [field], isProvisioned: true });
  }
  const found = findProfile(observed.profiles, wanted.name);
  if (found === undefined) return undefined;
  const differences = describeDifferences(desired, observed, found);
  const ownership = ownershipOf(desired, found);
  if (ownership.kind === 'foreign') {
    const obstacles = findAdoptionObstacles(desired, ownership, found, differences);
    if (obstacles === undefined || obstacles.length > 0) {
      const stripped = strippedProfileReason(desired, found);
      if (stripped !== undefined) return stripped;
      const adoption = adoptionPolicyFor(desired, ownership, found);
      return stopAtForeign(
        desired,
        newReason('ProfileNotOwned', {
          name: found.name,
          whose: ownership.whose,
          isProvisioned: desired.recorded.isProvisioned,
          ...(adoption && { adoption }),
          ...(obstacles && { obstacles }),
        }),
      );
    }
  }
  const mayBeDeleted = isUnfinished(desired) && !desired.isReplaceable;
  return differences.length > 0 && found.status === 'ACTIVE' && !mayBeDeleted
    ? newReason('SpecDiffers', {
        name: found.name,
        fields: differences,
        isProvisioned: desired.recorded.isProvisioned,
      })
    : undefined;
}

/**
 * Returns the Fargate profile whose name is recorded in status, if this profile exists, has once been ACTIVE and equal
 * to the spec, and the spec now asks for another name.
 */
function findFormerProfile(
  { recorded }: Desired,
  { profiles }: Observed,
  wanted: WantedProfile,
): FargateProfile | undefined {
  const isOther = recorded.profileName !== undefined && recorded.profileName !== wanted.name;
  return recorded.isProvisioned && isOther ? findProfile(profiles, recorded.profileName) : undefined;
}

/** Returns the reason to stop if the IAM role that the spec asks for can be neither used nor created. */
export function findRoleBlocker(desired: Desired, observed: Observed): Reason | undefined {
  const role = desired.wanted?.role;
  if (role === undefined) return undefined;
  const { isProvisioned } = desired.recorded;
  const found = findRole(observed.roles, role.name);
  if (role.kind === 'existing') return findExistingRoleBlocker(desired, role, found);
  if (found === undefined) {
    // The controller does not recreate these deleted roles: a role of another owner that spec.roleName names, and the
    // role that Cluster API Provider AWS shares between all its profiles. But if spec.roleName is absent, the
    // controller creates its own role under the computed name, even if a role of another owner had this name before.
    const isForeign = role.isNamedInSpec && desired.recorded.isRoleManaged === false && isRecorded(desired, role.name);
    if (isForeign || isSharedByCapa(role.name)) {
      return newReason('RoleNotFound', { name: role.name, isOfCapa: isSharedByCapa(role.name), isProvisioned });
    }
    return desired.roleConflict;
  }
  const stripped = strippedRoleReason(desired, found);
  if (stripped !== undefined) return stripped;
  const ownership = roleOwnership(found, desired.identity);
  if (ownership.kind === 'ours') {
    return desired.roleConflict;
  }
  if (role.isNamedInSpec) return findTrustBlocker(desired, found);
  const isTrusted = checkTrustOf(desired, found).kind === 'trusted';
  const facts = { name: role.name, whose: ownership.whose, isTrusted, isProvisioned };
  return stopAtForeign(desired, newReason('RoleNotOwned', facts));
}

/**
 * Returns the reason to stop because a profile or role belongs to another owner. Without a ready control plane,
 * nothing proves that the EKS cluster belongs to the namespace of the object. The reason then does not name the owner.
 */
const stopAtForeign = ({ creationBlocker }: Desired, reason: Reason): Reason => creationBlocker ?? reason;

function findExistingRoleBlocker(
  desired: Desired,
  role: ExistingRole,
  found: FoundRole | undefined,
): Reason | undefined {
  if (found?.arn === role.arn) return findTrustBlocker(desired, found);
  // IAM finds a role by its name alone. The path and the case of the letters do not matter, so IAM can return a role
  // with another ARN than spec.roleARN.
  const other = found && { arn: found.arn, wanted: role.arn };
  const { isProvisioned } = desired.recorded;
  return newReason('RoleNotFound', { name: role.name, ...(other && { other }), isProvisioned });
}

function findTrustBlocker(desired: Desired, found: FoundRole): Reason | undefined {
  const verdict = checkTrustOf(desired, found);
  if (verdict.kind === 'trusted') return undefined;
  const { reason: problem, mistake } = verdict;
  return newReason('RoleTrustInvalid', { name: found.name, problem, mistake, ours: false });
}

const checkTrustOf = ({ place, identity, wanted }: Desired, { trust }: FoundRole): TrustCheck =>
  checkTrust(trust, {
    ...place,
    cluster: identity.eksCluster,
    ...(wanted !== undefined && { profile: wanted.profile.name }),
  });

/**
 * Returns the differences from the spec that prevent the adoption of a Fargate profile without an owner tag. An empty
 * list allows the adoption. `undefined` if adoptionPolicy is not `Always`, or if a tag names another owner: the
 * controller then does not adopt the profile, whatever the differences are.
 */
function findAdoptionObstacles(
  desired: Desired,
  ownership: Extract<Ownership, { kind: 'foreign' }>,
  found: FargateProfile,
  differences: readonly string[],
): readonly string[] | undefined {
  if (desired.adoptionPolicy !== 'Always' || ownership.claimed) return undefined;
  return found.status === 'ACTIVE' ? differences : [`status is ${found.status} instead of ACTIVE`, ...differences];
}

/**
 * Returns the value of spec.adoptionPolicy with which the controller would adopt a Fargate profile that now counts as a
 * profile of another owner. `undefined` if a tag of the profile really names another owner, because then no value
 * allows the adoption.
 */
function adoptionPolicyFor(
  desired: Desired,
  { claimed }: Extract<Ownership, { kind: 'foreign' }>,
  found: FargateProfile,
): AdoptionPolicy | undefined {
  if (!claimed) return 'Always';
  return profileOwnership(found, desired.identity).kind === 'ours' ? 'Owned' : undefined;
}

/**
 * Whether the controller has sent a create request for the wanted Fargate profile, but the profile has never been both
 * ACTIVE and equal to the spec.
 */
const isUnfinished = ({ recorded, wanted }: Desired): boolean =>
  recorded.isCreateRequested && recorded.requestedName === wanted?.profile.name && !recorded.isProvisioned;
