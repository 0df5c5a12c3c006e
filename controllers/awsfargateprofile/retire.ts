import type { FargateProfile } from '../../pkg/cloud/types.ts';
import { roleOwner } from '../../pkg/fargate/ownership.ts';
import { differencesOf, foundRoles, isMisplaced, ownerOf, succeeded } from './comparison.ts';
import type { Answer, Desired, FoundRole, Observed } from './model.ts';
import { perform, stop } from './model.ts';
import { why } from './reasons.ts';

/** The next step that takes away what is ours and unwanted: profiles first, since a role must outlive them. */
export function retire(desired: Desired, observed: Observed): Answer {
  if (desired.surplus === 'retain') return retained(desired, observed);
  for (const { found } of observed.profiles) {
    const answer = found && retireProfile(desired, observed, found);
    if (answer !== undefined) return answer;
  }
  if (observed.roles.some(({ found }) => found === 'unread')) return { kind: 'lookAgain' };
  if (mayStillAppear(desired, observed)) return waitForCreate;
  for (const found of foundRoles(observed.roles)) {
    const answer = retireRole(desired, observed, found);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** A create whose answer never came may still appear: neither its name nor its role must be given up by then. */
function mayStillAppear(desired: Desired, observed: Observed): boolean {
  if (!desired.records.createUnseen || observed.cluster === 'gone') return false;
  return (
    desired.wanted === undefined ||
    desired.wanted.profile.name !== desired.records.profileName ||
    foundRoles(observed.roles).some((found) => isSurplusRole(desired, observed, found))
  );
}

const waitForCreate = stop(
  why('Propagating', {
    words:
      'a Fargate profile was asked for a moment ago, and no answer came: it will show within a minute whether EKS creates it',
  }),
);

/** What is to stay stays; but a profile that stays keeps EKS from deleting its cluster. */
function retained(desired: Desired, observed: Observed): Answer {
  if (mayStillAppear(desired, observed)) return waitForCreate;
  const found = observed.profiles.find((profile) => profile.found && ownerOf(desired, profile.found).kind === 'ours');
  return found === undefined
    ? undefined
    : stop(why('RetainBlocksClusterDeletion', { name: found.name, cluster: desired.owner.eksCluster }));
}

function retireProfile(desired: Desired, observed: Observed, found: FargateProfile): Answer {
  const wanted = desired.wanted?.profile.name === found.name;
  if (ownerOf(desired, found).kind !== 'ours') return undefined;
  if (wanted && differencesOf(desired, observed, found).length === 0) return undefined;
  switch (found.status) {
    case 'CREATING':
      return stop(why('WaitingForCreate', succeeded(desired, found)));
    case 'DELETING':
      return stop(why('DeletingProfile', succeeded(desired, found)));
    case 'ACTIVE':
    case 'CREATE_FAILED':
    case 'DELETE_FAILED':
      return perform({ kind: 'deleteProfile', name: found.name, because: wanted ? 'different' : 'unwanted' });
    default:
      return stop(why('UnknownProfileStatus', { name: found.name, status: found.status }));
  }
}

function retireRole(desired: Desired, observed: Observed, found: FoundRole): Answer {
  if (!isSurplusRole(desired, observed, found)) return undefined;
  const [policy] = found.attached;
  if (found.blockers.length > 0) return stop(why('RoleBlocked', { name: found.name, blockers: found.blockers }));
  return policy === undefined
    ? perform({ kind: 'deleteRole', name: found.name })
    : perform({ kind: 'detachPolicy', name: found.name, policyArn: policy, retiring: true });
}

function isSurplusRole(desired: Desired, observed: Observed, found: FoundRole): boolean {
  const role = desired.wanted?.role;
  return (
    found.keep === undefined &&
    roleOwner(found, desired.owner).kind === 'ours' &&
    (role === undefined || role.name !== found.name || isMisplaced(role, found)) &&
    // Pods of a profile die with its role: whoever's profile it is, it goes first.
    !observed.profiles.some((profile) => profile.found?.podExecutionRoleArn === found.arn)
  );
}
