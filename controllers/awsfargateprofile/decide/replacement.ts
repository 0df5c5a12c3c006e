import type { Ms } from '../../../pkg/env/clock.ts';
import type { ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isDerivedProfileName } from '../../../pkg/fargate/names.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed, ObservedProfile } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { findProfile, ownershipOf } from './compare.ts';

// EKS cannot change a Fargate profile. With `updateStrategy: Replace`, the controller makes the wanted profile beside the
// profiles that the spec does not ask for any more, its predecessors, and deletes these when the wanted profile has been
// ACTIVE for a while (docs/adr/0022).

/** How long the wanted profile is ACTIVE at least before its predecessors are deleted, so that EKS knows it everywhere. */
const SHORTEST_OVERLAP: Ms = 30_000;

/**
 * Tells by its name whether a profile of the EKS cluster has to be read, because it may be another profile of the object;
 * `undefined` if there can be none, so that EKS need not list its profiles.
 */
export function searchFor(
  { wanted, isReplaceable, recorded, ...desired }: Desired,
  profiles: readonly ObservedProfile[],
): ((name: ProfileName) => boolean) | undefined {
  const { profileName: base } = desired.identity;
  const isDerived = (name: ProfileName): boolean => isDerivedProfileName(name, base);
  const isRecorded = recorded.replacement.length > 0;
  const isFound = findProfile(profiles, wanted?.profile.name ?? base) !== undefined;
  if (recorded.lostNames.profiles.length > 0)
    return isReplaceable || isRecorded ? () => true : isFound ? undefined : isDerived;
  const isToBeReplaced = isReplaceable && !isFound && profiles.some(({ found }) => found !== undefined);
  return isRecorded || isToBeReplaced ? isDerived : undefined;
}

/** A profile with a derived name matters even if it is foreign, because it takes the name. */
export const isOfReplacement = (desired: Desired, found: FargateProfile): boolean =>
  isDerivedProfileName(found.name, desired.identity.profileName) || ownershipOf(desired, found).kind === 'ours';

export const oursOf = (desired: Desired, profiles: readonly ObservedProfile[]): readonly FargateProfile[] =>
  profiles.flatMap(({ found }) => (found !== undefined && ownershipOf(desired, found).kind === 'ours' ? [found] : []));

/** The profiles of the object that the spec does not ask for any more. Without a wanted profile there are none. */
export const predecessorsOf = (
  desired: Desired,
  { profiles }: Pick<Observed, 'profiles'>,
): readonly FargateProfile[] =>
  desired.wanted === undefined || !desired.isReplaceable
    ? []
    : oursOf(desired, profiles).filter(({ name }) => name !== desired.wanted?.profile.name);

/** Whether the wanted profile serves pods, so that nothing depends on its predecessors any more. */
export const isSucceeded = (desired: Desired, { profiles }: Pick<Observed, 'profiles'>): boolean =>
  desired.isReplaceable &&
  oursOf(desired, profiles).some(({ name, status }) => name === desired.wanted?.profile.name && status === 'ACTIVE');

/** Until when the predecessors have to stay beside the ACTIVE wanted profile, in ms since 1970. */
function keptUntil({ wanted, recorded, keepPredecessorFor, now }: Desired): Ms {
  const { name, time = now } = recorded.activeSince ?? {};
  const since = name === wanted?.profile.name ? Math.min(time, now) : now;
  return since + Math.max(SHORTEST_OVERLAP, keepPredecessorFor);
}

const activePredecessors = (desired: Desired, observed: Pick<Observed, 'profiles'>): readonly FargateProfile[] =>
  predecessorsOf(desired, observed).filter(({ status }) => status === 'ACTIVE');

/** The profile that serves pods as long as the wanted one does not: the recorded one if it is ACTIVE. */
export function servingPredecessor(desired: Desired, observed: Pick<Observed, 'profiles'>): FargateProfile | undefined {
  const active = activePredecessors(desired, observed);
  return active.find(({ name }) => name === desired.recorded.profileName) ?? active[0];
}

/**
 * Whether the profile serves pods as long as the wanted one does not. If EKS has no room for the wanted one, only the
 * last ACTIVE profile stays.
 */
export function isKept(desired: Desired, observed: Pick<Observed, 'profiles'>, { name }: FargateProfile): boolean {
  const isActive = activePredecessors(desired, observed).some((each) => each.name === name);
  if (isSucceeded(desired, observed)) return isActive && keptUntil(desired) > desired.now;
  return desired.recorded.isQuotaExceeded ? servingPredecessor(desired, observed)?.name === name : isActive;
}

/** Returns the reason to wait while EKS creates the wanted profile. */
export function creatingReason(desired: Desired, observed: Pick<Observed, 'profiles'>, name: string): Reason {
  const serving = servingPredecessor(desired, observed);
  return serving === undefined
    ? newReason('Creating', { name })
    : newReason('Replacing', { name, predecessor: serving.name });
}

/** Returns what to tell while a predecessor stays beside the ACTIVE wanted profile. */
export function keptReason(desired: Desired, observed: Pick<Observed, 'profiles'>): Reason | undefined {
  const { wanted } = desired;
  if (wanted === undefined || !isSucceeded(desired, observed)) return undefined;
  const kept = predecessorsOf(desired, observed).filter((each) => isKept(desired, observed, each));
  const [first] = kept;
  if (first === undefined) return undefined;
  const names = [wanted.profile.name, ...kept.map(({ name }) => name)].toSorted(byBytes);
  const facts = { name: wanted.profile.name, predecessor: first.name, taker: names[0] ?? '' };
  return newReason('PredecessorKept', {
    ...facts,
    until: keptUntil(desired),
    remaining: keptUntil(desired) - desired.now,
  });
}

/** EKS compares names by bytes, and the first takes a pod that several profiles match. */
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
