import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { oursOf } from '../model/ownership.ts';
import { areSubnetsAsWanted, replacementFacts } from './compare.ts';
import { creatingReason, isSucceeded } from './replacement.ts';

export function transitReason(desired: Desired, observed: Observed): Reason | undefined {
  // Once the wanted profile serves pods, the pass does not wait for what EKS does to its predecessors.
  if (isSucceeded(desired, observed)) return undefined;
  for (const found of oursOf(desired, observed.profiles)) {
    if (found.status === 'DELETING') return newReason('DeletingProfile', replacementFacts(desired, found));
    if (found.status !== 'CREATING') continue;
    // With `deletionPolicy: Retain`, the controller does not delete the profile afterwards.
    return isAsWanted(desired, found) || desired.surplus === 'retain'
      ? creatingReason(desired, observed, found.name)
      : newReason('WaitingForCreate', replacementFacts(desired, found));
  }
  return undefined;
}

/** The role is not compared, because it has not been read yet. */
function isAsWanted(desired: Desired, found: FargateProfile): boolean {
  const wanted = desired.wanted?.profile;
  return (
    wanted?.name === found.name &&
    areSelectorsEqual(wanted.selectors, found.selectors) &&
    areSubnetsAsWanted(desired, wanted, found)
  );
}
