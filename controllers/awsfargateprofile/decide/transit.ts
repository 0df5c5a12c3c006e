import type { FargateProfile } from '../../../pkg/cloud/types.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import type { Reason } from '../reasons/reasons.ts';
import { newReason } from '../reasons/reasons.ts';
import { areSubnetsAsWanted, ownershipOf, replacementFacts } from './compare.ts';

/**
 * The reason to wait while EKS is creating or deleting a profile of this controller. EKS accepts no other change of
 * that profile.
 */
export function transitReason(desired: Desired, profiles: Observed['profiles']): Reason | undefined {
  for (const { found } of profiles) {
    if (found === undefined || ownershipOf(desired, found).kind !== 'ours') continue;
    if (found.status === 'DELETING') return newReason('DeletingProfile', replacementFacts(desired, found));
    if (found.status !== 'CREATING') continue;
    // The controller does not delete a retained profile, so nothing follows after EKS has created the profile.
    return isAsWanted(desired, found) || desired.surplus === 'retain'
      ? newReason('Creating', { name: found.name })
      : newReason('WaitingForCreate', replacementFacts(desired, found));
  }
  return undefined;
}

/**
 * Whether the next step of a deletion is to delete a profile of this controller, whatever the state of the roles is.
 */
export const canReadRolesLater = (desired: Desired, profiles: Observed['profiles']): boolean =>
  desired.wanted === undefined &&
  profiles.some(({ found }) => found !== undefined && ownershipOf(desired, found).kind === 'ours');

/**
 * Whether the profile equals the wanted profile. The role is not compared, because the pass has not read the role yet.
 */
function isAsWanted(desired: Desired, found: FargateProfile): boolean {
  const wanted = desired.wanted?.profile;
  return (
    wanted?.name === found.name &&
    areSelectorsEqual(wanted.selectors, found.selectors) &&
    areSubnetsAsWanted(desired, wanted, found)
  );
}
