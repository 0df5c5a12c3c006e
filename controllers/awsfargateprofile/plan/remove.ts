import type { Ms } from 'controller-runtime/env';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { roleOwnershipTags } from '../../../pkg/fargate/tags/tag-keys.ts';
import type { Desired } from '../model/desired-state.ts';
import { type FoundRole, type Observed, foundRoles, areRolesUnread } from '../model/observed-state.ts';
import { isRoleTaggedOurs, ownershipOf, oursOf } from '../model/owner.ts';
import { type KeptRole, type PlanPart, change, type Mutation } from '../model/change.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { removeAccessEntry } from './access-entry.ts';
import { hasOtherPath, replacementFacts, strippedProfileReason, strippedRoleReason, isAsDesired } from './compare.ts';
import { hasTakenOver, indispensablePredecessor, keptUntil } from './replace.ts';
import { ACTIVE, CREATE_FAILED, CREATING, DELETE_FAILED, DELETING, isFailed } from '../model/profile-status.ts';
import { entryOf } from '../../shared/record.ts';

/** Deletes one profile per reconcile, and then the roles. */
export function* removeUnwanted(desired: Desired, observed: Observed): PlanPart {
  if (desired.unwanted === 'retain') return findRetainedProfileBlocker(desired, observed);
  for (const found of observed.profiles) {
    const end = yield* removeProfile(desired, observed, found);
    if (end !== undefined) return end;
  }
  if (areRolesUnread(observed)) return newReason('ReadAgain', { because: 'the roles have to be read now' });
  if (canCreateStillAppear(desired, observed)) return waitForCreate(desired, 'continues with the deletion');
  for (const found of foundRoles(observed.roles)) {
    const end = yield* removeUnwantedRole(desired, observed, found);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** Whether an unanswered request may still create an unwanted profile or role, or a profile with an unwanted role. */
function canCreateStillAppear(desired: Desired, observed: Observed): boolean {
  const { record, profile } = desired;
  const open = record.profiles.filter(({ requestedAt }) => requestedAt !== undefined);
  if (observed.cluster === 'gone') return false;
  if (profile === undefined) return desired.isLost || open.length > 0 || hasOpenRequest(record.roles);
  return (
    open.length > 0 &&
    (open.some(({ name }) => name !== profile.name) ||
      foundRoles(observed.roles).some((found) => isUnwantedRole(desired, observed, found)))
  );
}

const hasOpenRequest = (entries: readonly { readonly requestedAt?: Ms }[]): boolean =>
  entries.some(({ requestedAt }) => requestedAt !== undefined);

const waitForCreate = ({ isLost }: Desired, next: string): Reason =>
  newReason('Propagating', {
    detail: isLost
      ? 'This object has no record of what it has in AWS, so a Fargate profile or a role that it requested may still appear'
      : 'AWS has not answered the request to create the Fargate profile or its role, so it may still appear',
    outlook: `The controller sends no second request. It waits for at most a minute, and then ${next}`,
  });

/** EKS does not delete a cluster with profiles, so an object with `Retain` waits until a user deletes the profile. */
function findRetainedProfileBlocker(desired: Desired, observed: Observed): Reason | undefined {
  // A requested profile may still appear and prevent the deletion of the EKS cluster. Requested roles are retained.
  const mayAppear = desired.isLost || hasOpenRequest(desired.record.profiles);
  if (mayAppear && observed.cluster !== 'gone') return waitForCreate(desired, 'continues');
  const found = observed.profiles.find(
    (each) => ownershipOf(desired, each).kind === 'ours' || strippedProfileReason(desired, each) !== undefined,
  );
  return found === undefined
    ? undefined
    : newReason('RetainBlocksClusterDeletion', { name: found.name, cluster: desired.identity.eksCluster });
}

function* removeProfile(desired: Desired, observed: Observed, found: FargateProfile): PlanPart {
  const { name, status } = found;
  if (ownershipOf(desired, found).kind !== 'ours') return strippedProfileReason(desired, found);
  const because = whyDeletable(desired, observed, found);
  if (because === undefined) return undefined;
  const deleting = hasTakenOver(desired, observed)
    ? newReason('RemovingPredecessor', { name: desired.profile?.name ?? '', predecessor: name })
    : newReason('DeletingProfile', replacementFacts(desired, found));
  switch (status) {
    case CREATING:
      return newReason('WaitingForCreate', replacementFacts(desired, found));
    case DELETING:
      return deleting;
    case ACTIVE:
    case CREATE_FAILED:
    case DELETE_FAILED:
      yield change({ kind: 'deleteProfile', name, because });
      return deleting;
    default:
      return newReason('UnknownProfileStatus', { name, status });
  }
}

/**
 * IAM cannot change a role's path, so a role with the wrong path is deleted and created again. The plan then ends with
 * the deletion, and a later reconcile creates the role, because IAM may still return the deleted role for a while.
 */
function* removeUnwantedRole(desired: Desired, observed: Observed, found: FoundRole): PlanPart {
  const { name } = found;
  if (found.arn === desired.userProvidedRole) return undefined;
  const stripped = strippedRoleReason(desired, found);
  if (stripped !== undefined) return stripped;
  if (!isOurUnwantedRole(desired, found)) return undefined;
  const user = userOf(observed, found);
  if (user !== undefined)
    return user.status === DELETING ? newReason('DeletingProfile', { name: user.name }) : undefined;
  if (found.blockers.length > 0)
    return newReason('RoleBlocked', { name, blockers: found.blockers, abandonment: desired.abandonment });
  const ownership = roleOwnership(found, desired.identity);
  // Tags the role first, because the documented IAM policy allows changes only of roles with this controller's tags.
  if (ownership.kind === 'ours' && !ownership.stamped)
    yield change({ kind: 'tagRole', name, tags: roleOwnershipTags(desired.identity), retiring: true });
  for (const policyArn of found.attached) yield change({ kind: 'detachPolicy', name, policyArn, retiring: true });
  yield* removeAccessEntry(desired, observed, found);
  yield change({ kind: 'deleteRole', name });
  return isSameRoleName(desired.role?.name, name)
    ? newReason('ReadAgain', { because: 'the role is recreated with another path' })
    : undefined;
}

/** Returns this controller's roles that are unwanted but kept, because another owner's profile uses them. */
export function keptRoles(
  desired: Desired,
  { profiles, roles }: Pick<Observed, 'profiles' | 'roles'>,
): readonly KeptRole[] {
  if (desired.unwanted === 'retain') return [];
  return foundRoles(roles).flatMap((found) => {
    const isUnwanted = isOurUnwantedRole(desired, found) && !isSameRoleName(desired.role?.name, found.name);
    const user = isUnwanted ? userOf({ profiles }, found) : undefined;
    return user === undefined || ownershipOf(desired, user).kind === 'ours'
      ? []
      : [{ name: found.name, usedBy: `Fargate profile "${user.name}"` }];
  });
}

const isUnwantedRole = (desired: Desired, observed: Observed, found: FoundRole): boolean =>
  isOurUnwantedRole(desired, found) && userOf(observed, found) === undefined;

function isOurUnwantedRole(desired: Desired, found: FoundRole): boolean {
  const role = desired.role;
  const isDesired = role !== undefined && isSameRoleName(role.name, found.name) && !hasOtherPath(role, found);
  return !isDesired && isRoleTaggedOurs(desired, found);
}

/**
 * Returns a profile that uses the role, even if the profile belongs to another owner, because its pods do not work
 * without the role. A profile that EKS is not deleting comes first: the caller then leaves the role in AWS. Otherwise
 * the caller waits until the profile is deleted, because no other object would delete the role.
 */
function userOf({ profiles }: Pick<Observed, 'profiles'>, { arn }: FoundRole): FargateProfile | undefined {
  const users = profiles.filter(({ podExecutionRoleArn }) => podExecutionRoleArn === arn);
  return users.find(({ status }) => status !== DELETING) ?? users[0];
}

export type DeletionCause = Extract<Mutation, { kind: 'deleteProfile' }>['because'];

/**
 * How old a profile may be, by AWS's clock, to be deleted because it has never been ACTIVE with a matching spec. An
 * older profile is kept: the record may come from a backup that was taken before the profile served pods.
 */
const RECENT_ATTEMPT: Ms = 60 * 60_000;

/**
 * Returns `undefined` if the profile must be kept. Only this function decides about the deletion of a profile, and its
 * first matching line counts. A record or a status alone never justifies a deletion.
 */
export function whyDeletable(desired: Desired, observed: Observed, found: FargateProfile): DeletionCause | undefined {
  const { profile, unwanted, elsewhere, isReplaceable, isQuotaExceeded } = desired;
  // Another copy of this object may have created a profile, and may need this profile. Or another client has added the
  // owner tag to a profile that does not belong to this object.
  if (elsewhere.length > 0) return undefined;
  if (profile === undefined) return unwanted === 'delete' ? 'unwanted' : undefined;
  const isDesired = isAsDesired(desired, observed, found);
  // The cause `failed` means that the same profile is retried, because only a retry waits for a backoff.
  if (isFailed(found)) return isDesired ? 'failed' : found.name === profile.name ? 'different' : 'unwanted';
  if (isDesired) return undefined;
  if (hasTakenOver(desired, observed))
    return keptUntil(desired, observed) <= desired.now && found !== indispensablePredecessor(desired, observed)
      ? 'replaced'
      : undefined;
  if (!isRecentAttempt(desired, found)) return undefined;
  if (!isReplaceable) return 'different';
  return isQuotaExceeded && !isLastActive(desired, observed, found) ? 'unwanted' : undefined;
}

/**
 * Whether this is the object's only ACTIVE profile. Pods need it until the desired profile is ACTIVE, even if it has
 * never matched the spec.
 */
const isLastActive = (desired: Desired, { profiles }: Observed, found: FargateProfile): boolean =>
  found.status === ACTIVE &&
  !oursOf(desired, profiles).some(({ name, status }) => name !== found.name && status === ACTIVE);

/** True if this record contains a create request for the young profile, and the profile has never matched the spec. */
function isRecentAttempt({ record, now }: Desired, found: FargateProfile): boolean {
  const isYoung = found.createdAt !== undefined && now - found.createdAt < RECENT_ATTEMPT;
  const entry = entryOf(record, found);
  return isYoung && entry !== undefined && entry.served !== true;
}
