import { isSharedByCapa, roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { type TrustCheck, checkTrust } from '../../../pkg/fargate/trust-policy.ts';
import {
  describeDifferences,
  isRoleOurs,
  strippedProfileReason,
  strippedRoleReason,
  desiredRoleArn,
} from './compare.ts';
import { adoptionPolicyFor, findAdoptionBlocker, findAdoptionObstacles } from './adoption.ts';
import { whyDeletable } from './remove.ts';
import type { Desired, ExistingRole, DesiredProfile, DesiredRole } from '../model/desired-state.ts';
import { type FoundRole, type Observed, foundRoles, findProfile, findRole } from '../model/observed-state.ts';
import { isRoleTaggedOurs, isStamped, oursOf, ownershipOf } from '../model/owner.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { enumerated } from '../reasons/wording.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { type LimitExcess, findRoleExcess } from '../../../pkg/fargate/operator-limits.ts';
import { parseRoleArn } from '../../../pkg/fargate/arns.ts';
import { ACTIVE } from '../model/profile-status.ts';
import { roleEntryOf } from '../../shared/record.ts';

export function findBlocker(desired: Desired, observed: Observed): Reason | undefined {
  const { profile, role } = desired;
  if (profile === undefined) return findAccountBlocker(desired, observed);
  const { region, account } = desired.place;
  if (observed.cluster === 'gone') {
    const { eksCluster: cluster, clusterName } = desired.identity;
    const isOfObject = clusterName === undefined;
    const hasExisted = desired.record.in.kind === 'known';
    return newReason('EKSClusterNotFound', { cluster, region, account, isOfObject, hasExisted });
  }
  const found = findProfile(observed.profiles, profile.name);
  const isToBeMade = found === undefined || describeDifferences(desired, observed, found).length > 0;
  return (
    findProfileBlocker(desired, observed, profile) ??
    // The operator's limits are checked first, so that an object that may not use a role learns nothing about it.
    (isToBeMade ? (findEmptyFieldBlocker(desired) ?? findLimitBlocker(desired, observed)) : undefined) ??
    findRoleBlocker(desired, observed, role) ??
    findAdoptionBlocker(desired, observed, profile) ??
    (isToBeMade ? findRolePathBlocker(desired, observed) : undefined)
  );
}

function findEmptyFieldBlocker({ emptySelectorFields: fields }: Desired): Reason | undefined {
  if (fields.length === 0) return undefined;
  const detail = `${enumerated(fields)} has no value in the manifest that kubectl has applied, so the selector would match more pods than the manifest says. For an empty value, write ""`;
  return newReason('InvalidSpec', { detail });
}

/**
 * EKS also answers "no such cluster" if the cluster is in a different AWS account from the credentials. So a missing
 * EKS cluster completes a deletion only if the object records its account, or that nothing was created (docs/adr/0011).
 */
function findAccountBlocker(desired: Desired, { cluster, roles }: Observed): Reason | undefined {
  const { unwanted, record, identity, place } = desired;
  if (unwanted === 'retain' || cluster === 'there' || record.in.kind !== 'unknown') return undefined;
  const { clusterName, eksCluster, profileName: profile } = identity;
  const isOfObject = clusterName === undefined;
  // The first entry of `roles` is the role in the spec.
  const [found] = foundRoles(roles.slice(0, 1));
  const role = found === undefined || isRoleOurs(desired, found) ? roles[0]?.name : undefined;
  return newReason('AccountUncertain', { cluster: eksCluster, ...place, profile, role, isOfObject });
}

/**
 * A profile that differs from the spec does not block if the controller may delete it, for example because it has never
 * been ACTIVE with a matching spec. The controller then replaces it.
 */
export function findProfileBlocker(desired: Desired, observed: Observed, profile: DesiredProfile): Reason | undefined {
  const found = findProfile(observed.profiles, profile.name);
  if (found === undefined) return findFormerProfile(desired, observed, profile);
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
          isSpecFixed: desired.isSpecFixed,
          ...(adoption && { adoption }),
          ...(obstacles && { obstacles }),
        }),
      );
    }
  }
  // An adopted profile would count as the successor of the former one, which would then be deleted.
  const former = isStamped(desired, found) ? undefined : findFormerProfile(desired, observed, profile);
  if (former !== undefined) return former;
  const stays =
    differences.length > 0 && found.status === ACTIVE && whyDeletable(desired, observed, found) === undefined;
  return stays
    ? newReason('SpecDiffers', { name: found.name, fields: differences, isSpecFixed: desired.isSpecFixed })
    : undefined;
}

/** With updateStrategy Reject, a profile with a different name from the spec's stays unless it may be deleted. */
function findFormerProfile(desired: Desired, observed: Observed, profile: DesiredProfile): Reason | undefined {
  const { isReplaceable, isSpecFixed } = desired;
  const former = oursOf(desired, observed.profiles).find(
    (each) => each.name !== profile.name && whyDeletable(desired, observed, each) === undefined,
  );
  if (isReplaceable || former === undefined) return undefined;
  const field = `the name is ${former.name} in AWS, but ${profile.name} in the spec`;
  return newReason('SpecDiffers', { name: former.name, fields: [field], isSpecFixed });
}

export function findRoleBlocker(desired: Desired, observed: Observed, role: DesiredRole): Reason | undefined {
  const { isSpecFixed } = desired;
  const found = findRole(observed.roles, role.name);
  if (role.kind === 'existing') return findExistingRoleBlocker(desired, observed, role, found);
  if (found === undefined) {
    // If spec.roleName contains another owner's role that was deleted, the controller does not recreate it. The same
    // applies to the role that Cluster API Provider AWS shares between all its profiles.
    const isForeign = role.isNamedInSpec && roleEntryOf(desired.record, role.name)?.managed === false;
    if (isForeign || isSharedByCapa(role.name)) {
      return newReason('RoleNotFound', {
        name: role.name,
        ...(role.isNamedInSpec && { field: 'spec.roleName' }),
        isOfCapa: isSharedByCapa(role.name),
        isInUse: isInUse(desired, observed, role),
        isSpecFixed,
      });
    }
    return role.roleConflict;
  }
  const stripped = strippedRoleReason(desired, found);
  if (stripped !== undefined) return stripped;
  const ownership = roleOwnership(found, desired.identity);
  if (ownership.kind === 'ours') return role.roleConflict;
  if (role.isNamedInSpec) return findTrustBlocker(desired, found);
  const isTrusted = checkTrustOf(desired, found).kind === 'trusted';
  const facts = { name: role.name, whose: ownership.whose, isSpecFixed, ...(isTrusted && { usableArn: found.arn }) };
  return stopAtForeign(desired, newReason('RoleNotOwned', facts));
}

/**
 * Without a ready control plane, nothing proves that the EKS cluster belongs to the object's namespace, so the reason
 * then hides the resource's owner.
 */
const stopAtForeign = ({ creationBlocker }: Desired, reason: Reason): Reason => creationBlocker ?? reason;

const isInUse = (desired: Desired, { profiles }: Observed, { name }: DesiredRole): boolean =>
  oursOf(desired, profiles).some((each) => isSameRoleName(parseRoleArn(each.podExecutionRoleArn)?.name, name));

function findExistingRoleBlocker(
  desired: Desired,
  observed: Observed,
  role: ExistingRole,
  found: FoundRole | undefined,
): Reason | undefined {
  if (found?.arn === role.arn) return findTrustBlocker(desired, found);
  // IAM finds a role by its name, ignoring path and case, so the role may have another ARN than the one in the spec.
  const other = found && { arn: found.arn, desired: role.arn };
  const { isSpecFixed } = desired;
  return newReason('RoleNotFound', {
    name: role.name,
    field: 'spec.roleARN',
    ...(other && { other }),
    isInUse: isInUse(desired, observed, role),
    isSpecFixed,
  });
}

function findTrustBlocker(desired: Desired, found: FoundRole): Reason | undefined {
  const verdict = checkTrustOf(desired, found);
  if (verdict.kind === 'trusted') return undefined;
  const { reason: problem, mistake } = verdict;
  return newReason('RoleTrustInvalid', { name: found.name, problem, mistake, ours: false });
}

const checkTrustOf = ({ place, identity, profile }: Desired, { trust }: FoundRole): TrustCheck =>
  checkTrust(trust, {
    ...place,
    cluster: identity.eksCluster,
    ...(profile !== undefined && { profile: profile.name }),
  });

function findLimitBlocker(desired: Desired, observed: Observed): Reason | undefined {
  const excess = [...desired.excess, ...findForeignRoleExcess(desired, observed)];
  return excess.length > 0 ? newReason('NotAllowedByOperator', { excess, about: 'IAMFargateRolesReady' }) : undefined;
}

/** Returns a notice if the role lacks policies that the limits exclude. This does not harm a working profile. */
export function findLimitNotice(desired: Desired, observed: Observed): Reason | undefined {
  const role = desired.role;
  const found = role?.kind === 'managed' ? findRole(observed.roles, role.name) : undefined;
  if (found === undefined || !isRoleTaggedOurs(desired, found)) return undefined;
  const excess = desired.excess.filter(
    ({ field, value }) => field.startsWith('spec.roleAdditionalPolicies') && !found.attached.includes(value),
  );
  return excess.length > 0 ? newReason('NotAllowedByOperator', { excess, about: 'IAMFargateRolesReady' }) : undefined;
}

/** Another owner's role is used unchanged, like the role in spec.roleARN, so the same limits apply. */
function findForeignRoleExcess({ role, limits, identity }: Desired, observed: Observed): readonly LimitExcess[] {
  if (role?.kind !== 'managed' || !role.isNamedInSpec) return [];
  const found = findRole(observed.roles, role.name);
  return found === undefined || isRoleTaggedOurs({ identity }, found)
    ? []
    : findRoleExcess(limits, 'spec.roleName', found.arn);
}

// An EKS cluster with the authentication mode CONFIG_MAP admits pods through the ConfigMap aws-auth, in which a role
// ARN must not have a path: https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html

/**
 * Does not block the recreation of a provisioned object's deleted profile, because its pods may have joined the cluster
 * before.
 */
const findRolePathBlocker = (desired: Desired, observed: Observed): Reason | undefined =>
  isCreationChecked(desired) ? findRolePathProblem(desired, observed, { isLive: false }) : undefined;

/** False without a ready control plane, because then nothing is created, and the EKS cluster may not exist yet. */
const isCreationChecked = ({ creationBlocker, isProvisioned }: Desired): boolean =>
  creationBlocker === undefined && !isProvisioned;

export function findRolePathProblem(
  desired: Desired,
  observed: Observed,
  { isLive }: { readonly isLive: boolean },
): Reason | undefined {
  const path = pathOf(desired, observed);
  const { role, identity } = desired;
  if (role === undefined || path === '/' || observed.authenticationMode !== 'CONFIG_MAP') return undefined;
  const { kind, name } = role;
  const found = findRole(observed.roles, name);
  const isForeign = found !== undefined && !isRoleTaggedOurs({ identity }, found);
  const field = kind === 'existing' ? 'spec.roleARN' : isForeign ? 'spec.roleName' : 'spec.rolePath';
  return newReason('RolePathNotMapped', { name, path, field, cluster: identity.eksCluster, isLive });
}

export const pathOf = (desired: Desired, observed: Observed): string =>
  (desired.role && parseRoleArn(desiredRoleArn(desired, observed, desired.role))?.path) ?? '/';
