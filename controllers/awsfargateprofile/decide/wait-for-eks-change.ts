import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { areSubnetsAsWanted, ownershipOf, replacementFacts } from './compare.ts';
import { creatingReason, isSucceeded, oursOf } from './replacement.ts';

/**
 * Returns the reason to wait while EKS is creating or deleting a profile of this controller. EKS accepts no other
 * change of the profile during that time.
 */
export function transitReason(desired: Desired, profiles: Observed['profiles']): Reason | undefined {
  // Once the wanted profile serves pods, the pass does not wait for what EKS does to its predecessors.
  if (isSucceeded(desired, { profiles })) return undefined;
  for (const found of oursOf(desired, profiles)) {
    if (found.status === 'DELETING') return newReason('DeletingProfile', replacementFacts(desired, found));
    if (found.status !== 'CREATING') continue;
    // With `deletionPolicy: Retain`, the controller does not delete the profile after EKS has created it. So the reason
    // must not announce a deletion.
    return isAsWanted(desired, found) || desired.surplus === 'retain'
      ? creatingReason(desired, { profiles }, found.name)
      : newReason('WaitingForCreate', replacementFacts(desired, found));
  }
  return undefined;
}

/**
 * Whether the IAM roles can be read later, because the deletion of an object must first delete a Fargate profile of
 * this controller.
 */
export const canReadRolesLater = (desired: Desired, profiles: Observed['profiles']): boolean =>
  desired.wanted === undefined &&
  profiles.some(({ found }) => found !== undefined && ownershipOf(desired, found).kind === 'ours');

/**
 * Whether a Fargate profile has the name, selectors and subnets that the spec asks for. The role is not compared,
 * because it has not been read yet.
 */
function isAsWanted(desired: Desired, found: FargateProfile): boolean {
  const wanted = desired.wanted?.profile;
  return (
    wanted?.name === found.name &&
    areSelectorsEqual(wanted.selectors, found.selectors) &&
    areSubnetsAsWanted(desired, wanted, found)
  );
}
