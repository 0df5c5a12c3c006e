import type { FargateProfile } from '../../../pkg/cloud/eks/eks-api.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { roleOwnershipTags } from '../../../pkg/fargate/tags/tags-to-set.ts';
import { removeAccessEntry } from './change-access-entry.ts';
import { describeDifferences, foundRoles, hasOtherPath, ownershipOf, replacementFacts } from './compare.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { Decision } from '../model/decision.ts';
import { mutateWith, stopWith } from '../model/decision.ts';
import { newReason } from '../reasons/reasons.ts';
import { strippedProfileReason, strippedRoleReason } from './stripped-tags.ts';

/**
 * Returns the next step to delete Fargate profiles, and then IAM roles, of this controller that the spec does not ask
 * for, or the reason for which the controller has to stop before it. `undefined` if there is nothing to delete.
 */
export function removeUnwanted(desired: Desired, observed: Observed): Decision | undefined {
  if (desired.surplus === 'retain') return findRetainedProfileBlocker(desired, observed);
  for (const { found } of observed.profiles) {
    const step = found && removeUnwantedProfile(desired, observed, found);
    if (step !== undefined) return step;
  }
  if (observed.roles.some(({ found }) => found === 'unread')) return { kind: 'observeAgain' };
  if (canCreateStillAppear(desired, observed)) return waitForCreate('continues with the deletion');
  for (const found of foundRoles(observed.roles)) {
    const step = removeUnwantedRole(desired, observed, found);
    if (step !== undefined) return step;
  }
  return undefined;
}

/**
 * Whether the controller must wait because a Fargate profile may yet appear in EKS: the result of a create request is
 * not known, and this process first noticed the request less than a minute ago. The wait is necessary only if this
 * profile would be unwanted or would use an unwanted role.
 */
function canCreateStillAppear(desired: Desired, observed: Observed): boolean {
  if (!desired.recorded.isCreateUnconfirmed || observed.cluster === 'gone') return false;
  return (
    desired.wanted === undefined ||
    desired.wanted.profile.name !== desired.recorded.profileName ||
    foundRoles(observed.roles).some((found) => isUnwantedRole(desired, observed, found))
  );
}

const waitForCreate = (next: string): Decision =>
  stopWith(
    newReason('Propagating', {
      detail: 'EKS has not answered the request to create the Fargate profile, so the profile may still appear',
      remedy: `The controller sends no second request. It waits for at most a minute, and then ${next} on its own`,
    }),
  );

/**
 * Returns the decision to stop if `deletionPolicy: Retain` keeps the object's profile although its EKS cluster is being
 * deleted. The object then waits until a user deletes the profile, because EKS deletes no cluster that has profiles.
 */
function findRetainedProfileBlocker(desired: Desired, observed: Observed): Decision | undefined {
  if (canCreateStillAppear(desired, observed)) return waitForCreate('continues');
  const found = observed.profiles.find(
    ({ found: each }) =>
      each !== undefined &&
      (ownershipOf(desired, each).kind === 'ours' || strippedProfileReason(desired, each) !== undefined),
  );
  return found === undefined
    ? undefined
    : stopWith(newReason('RetainBlocksClusterDeletion', { name: found.name, cluster: desired.identity.eksCluster }));
}

function removeUnwantedProfile(desired: Desired, observed: Observed, found: FargateProfile): Decision | undefined {
  const isWanted = desired.wanted?.profile.name === found.name;
  if (ownershipOf(desired, found).kind !== 'ours') {
    const stripped = isWanted ? undefined : strippedProfileReason(desired, found);
    return stripped && stopWith(stripped);
  }
  if (isWanted && describeDifferences(desired, observed, found).length === 0) return undefined;
  switch (found.status) {
    case 'CREATING':
      return stopWith(newReason('WaitingForCreate', replacementFacts(desired, found)));
    case 'DELETING':
      return stopWith(newReason('DeletingProfile', replacementFacts(desired, found)));
    case 'ACTIVE':
    case 'CREATE_FAILED':
    case 'DELETE_FAILED':
      return mutateWith({ kind: 'deleteProfile', name: found.name, because: isWanted ? 'different' : 'unwanted' });
    default:
      return stopWith(newReason('UnknownProfileStatus', { name: found.name, status: found.status }));
  }
}

function removeUnwantedRole(desired: Desired, observed: Observed, found: FoundRole): Decision | undefined {
  if (found.arn === desired.broughtRole) return undefined;
  const stripped = strippedRoleReason(desired, found);
  if (stripped !== undefined) return stopWith(stripped);
  if (!isUnwantedRole(desired, observed, found)) return undefined;
  const [policy] = found.attached;
  if (found.blockers.length > 0)
    return stopWith(newReason('RoleBlocked', { name: found.name, blockers: found.blockers }));
  const ownership = roleOwnership(found, desired.identity);
  if (ownership.kind === 'ours' && !ownership.stamped) {
    // Under the IAM policy in the documentation, the controller may change only roles that have its tags. So the
    // controller tags the role before it deletes the role.
    return mutateWith({ kind: 'tagRole', name: found.name, tags: roleOwnershipTags(desired.identity), retiring: true });
  }
  return policy === undefined
    ? (removeAccessEntry(desired, observed, found) ?? mutateWith({ kind: 'deleteRole', name: found.name }))
    : mutateWith({ kind: 'detachPolicy', name: found.name, policyArn: policy, retiring: true });
}

const isUnwantedRole = (desired: Desired, observed: Observed, found: FoundRole): boolean =>
  isOurUnwantedRole(desired, found) && userOf(observed, found) === undefined;

function isOurUnwantedRole(desired: Desired, found: FoundRole): boolean {
  const role = desired.wanted?.role;
  const isWanted = role !== undefined && isSameRoleName(role.name, found.name) && !hasOtherPath(role, found);
  return !isWanted && found.arn !== desired.broughtRole && roleOwnership(found, desired.identity).kind === 'ours';
}

/**
 * Returns the name of the object or Fargate profile that uses the IAM role; `undefined` if the role is not in use. A
 * role is not deleted while a profile uses it, even a profile of another owner, because pods of the profile stop
 * working without the role.
 */
function userOf({ profiles }: Pick<Observed, 'profiles'>, found: FoundRole): string | undefined {
  const profile = profiles.find((each) => each.found?.podExecutionRoleArn === found.arn);
  return found.inUseBy ?? (profile && `Fargate profile "${profile.name}"`);
}

/**
 * Returns the IAM roles of this controller that the spec does not ask for, but that stay because another object or
 * profile uses them.
 */
export function keptRoles(
  desired: Desired,
  { profiles, roles }: Pick<Observed, 'profiles' | 'roles'>,
): readonly { readonly name: string; readonly usedBy: string }[] {
  if (desired.surplus === 'retain') return [];
  return foundRoles(roles).flatMap((found) => {
    const usedBy = isOurUnwantedRole(desired, found) ? userOf({ profiles }, found) : undefined;
    return usedBy === undefined ? [] : [{ name: found.name, usedBy }];
  });
}
