import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { areSubnetsAsWanted, ownershipOf, replacementFacts } from './compare.ts';
import { creatingReason, isSucceeded, oursOf } from './replacement.ts';

export function transitReason(desired: Desired, profiles: Observed['profiles']): Reason | undefined {
  // Once the wanted profile serves pods, the pass does not wait for what EKS does to its predecessors.
  if (isSucceeded(desired, { profiles })) return undefined;
  for (const found of oursOf(desired, profiles)) {
    if (found.status === 'DELETING') return newReason('DeletingProfile', replacementFacts(desired, found));
    if (found.status !== 'CREATING') continue;
    // With `deletionPolicy: Retain`, the controller does not delete the profile afterwards.
    return isAsWanted(desired, found) || desired.surplus === 'retain'
      ? creatingReason(desired, { profiles }, found.name)
      : newReason('WaitingForCreate', replacementFacts(desired, found));
  }
  return undefined;
}

/** The deletion of an object must first delete its Fargate profile. */
export const canReadRolesLater = (desired: Desired, profiles: Observed['profiles']): boolean =>
  desired.wanted === undefined &&
  profiles.some(({ found }) => found !== undefined && ownershipOf(desired, found).kind === 'ours');

/** The role is not compared, because it has not been read yet. */
function isAsWanted(desired: Desired, found: FargateProfile): boolean {
  const wanted = desired.wanted?.profile;
  return (
    wanted?.name === found.name &&
    areSelectorsEqual(wanted.selectors, found.selectors) &&
    areSubnetsAsWanted(desired, wanted, found)
  );
}
