import type { RoleArn } from '../../../api/names.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { isCheckDue, isManagedHere } from './change-access-entry.ts';
import { describeDifferences, findProfile, findRole } from './compare.ts';
import { plan } from './plan.ts';
import { isCreationChecked, pathOf } from './role-path.ts';

// The plan that follows from profiles and roles alone tells what else of AWS matters. While that plan has nothing to
// make or to remove, for example because it waits for the control plane, nothing else is read.

export function entriesToRead(desired: Desired, observed: Observed): readonly RoleArn[] {
  const { changes, end } = plan(desired, observed);
  const role = desired.wanted && findRole(observed.roles, desired.wanted.role.name);
  const isKept = observed.cluster === 'gone' || desired.isClusterLeaving;
  const arns = changes.map(({ mutation }) => {
    if (mutation.kind === 'deleteRole' && !isKept) return findRole(observed.roles, mutation.name)?.arn;
    const isMade = mutation.kind === 'createProfile' && isManagedHere(desired, role);
    return isMade ? mutation.profile.podExecutionRoleArn : undefined;
  });
  const checked = end === 'inOrder' && role !== undefined && isCheckDue(desired, role) ? role.arn : undefined;
  return [...new Set([...arns, checked])].filter((arn) => arn !== undefined);
}

export function modeNeededBefore(desired: Desired, observed: Observed): 'creation' | 'readiness' | undefined {
  const { wanted } = desired;
  if (wanted === undefined || pathOf(desired, observed) === '/') return undefined;
  const { changes, end } = plan(desired, observed);
  if (end === 'inOrder') return 'readiness';
  const found = findProfile(observed.profiles, wanted.profile.name);
  const isToBeMade = found === undefined || describeDifferences(desired, observed, found).length > 0;
  return isToBeMade && changes.length > 0 && isCreationChecked(desired) ? 'creation' : undefined;
}
