import type { Ms } from '../../../pkg/env/clock.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { Desired } from '../model/desired-state.ts';
import { isFailed } from '../model/fit.ts';
import type { Mutation } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import { oursOf } from '../model/ownership.ts';
import { entryOf } from '../note.ts';
import { isAsWanted } from './compare.ts';
import { isSucceeded, keptUntil } from './replacement.ts';

export type DeletionCause = Extract<Mutation, { kind: 'deleteProfile' }>['because'];

/** How long a first attempt may be deleted because the spec was corrected meanwhile, by AWS's clock. */
const FIRST_ATTEMPT: Ms = 60 * 60_000;

/**
 * Which profile of the object may be deleted, and why; `undefined`: it stays. The first row that fits counts. Nothing else
 * decides about the deletion of a profile: a note or a status is never a reason for it.
 */
export function whyDeletable(desired: Desired, observed: Observed, found: FargateProfile): DeletionCause | undefined {
  const { wanted, surplus, elsewhere, isReplaceable, isQuotaExceeded } = desired;
  // Another record of this object has made a profile, so the other side may need this one.
  if (elsewhere.length > 0) return undefined;
  if (wanted === undefined) return surplus === 'delete' ? 'unwanted' : undefined;
  const isWanted = isAsWanted(desired, observed, found);
  // Only a retry of what has failed before waits for a backoff.
  if (isFailed(found)) return isWanted ? 'failed' : found.name === wanted.profile.name ? 'different' : 'unwanted';
  if (isWanted) return undefined;
  if (isSucceeded(desired, observed)) return keptUntil(desired, observed) <= desired.now ? 'replaced' : undefined;
  if (!isReplaceable) return isFirstAttempt(desired, found) ? 'different' : undefined;
  const isDispensable = hasNeverServed(desired, found) && !isLastActive(desired, observed, found);
  return isQuotaExceeded && isDispensable ? 'unwanted' : undefined;
}

/** Pods need it until the wanted profile is ACTIVE, also if no pass has found everything in order since its creation. */
const isLastActive = (desired: Desired, { profiles }: Observed, found: FargateProfile): boolean =>
  found.status === 'ACTIVE' &&
  !oursOf(desired, profiles).some(({ name, status }) => name !== found.name && status === 'ACTIVE');

function isFirstAttempt(desired: Desired, found: FargateProfile): boolean {
  const isYoung = found.createdAt === undefined || desired.now - found.createdAt < FIRST_ATTEMPT;
  return isYoung && hasNeverServed(desired, found);
}

/** This note has a create request for the profile, which has never been as the spec asked for. */
function hasNeverServed({ note }: Desired, found: FargateProfile): boolean {
  const entry = entryOf(note, found);
  return entry !== undefined && entry.served !== true;
}
