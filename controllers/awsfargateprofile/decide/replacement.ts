import type { Ms } from '../../../pkg/env/clock.ts';
import type { ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isDerivedProfileName } from '../../../pkg/fargate/names.ts';
import { isPreferred } from '../../../pkg/fargate/overlap.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed, ObservedProfile } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { findProfile, ownershipOf } from './compare.ts';

/** So that EKS knows the wanted profile everywhere before its predecessors are deleted. */
const SHORTEST_OVERLAP: Ms = 30_000;

/** Tells which profiles of the EKS cluster have to be read; `undefined`: EKS need not list them. */
export function searchFor(
  { wanted, isReplaceable, recorded, ...desired }: Desired,
  profiles: readonly ObservedProfile[],
): ((name: ProfileName) => boolean) | undefined {
  const { profileName: base } = desired.identity;
  const isDerived = (name: ProfileName): boolean => isDerivedProfileName(name, base);
  const isRecorded = recorded.replacement.length > 0;
  const isFound = findProfile(profiles, wanted?.profile.name ?? base) !== undefined;
  if (recorded.lostNames.profiles.length > 0) return isReplaceable ? () => true : isFound ? undefined : isDerived;
  const isToBeReplaced = isReplaceable && !isFound && profiles.some(({ found }) => found !== undefined);
  return isRecorded || isToBeReplaced ? isDerived : undefined;
}

/** A profile with a derived name matters even if it is foreign, because it takes the name. */
export const isOfReplacement = (desired: Desired, found: FargateProfile): boolean =>
  isDerivedProfileName(found.name, desired.identity.profileName) || ownershipOf(desired, found).kind === 'ours';

export const oursOf = (desired: Desired, profiles: readonly ObservedProfile[]): readonly FargateProfile[] =>
  profiles.flatMap(({ found }) => (found !== undefined && ownershipOf(desired, found).kind === 'ours' ? [found] : []));

const predecessorsOf = (desired: Desired, { profiles }: Pick<Observed, 'profiles'>): readonly FargateProfile[] =>
  !desired.isReplaceable ? [] : oursOf(desired, profiles).filter(({ name }) => name !== desired.wanted?.profile.name);

export const isSucceeded = (desired: Desired, { profiles }: Pick<Observed, 'profiles'>): boolean =>
  desired.isReplaceable &&
  oursOf(desired, profiles).some(({ name, status }) => name === desired.wanted?.profile.name && status === 'ACTIVE');

/** In ms since 1970. */
function keptUntil({ wanted, recorded, keepPredecessorFor, now }: Desired): Ms {
  const { name, time = now } = recorded.activeSince ?? {};
  const since = name === wanted?.profile.name ? Math.min(time, now) : now;
  return since + Math.max(SHORTEST_OVERLAP, keepPredecessorFor);
}

const activePredecessors = (desired: Desired, observed: Pick<Observed, 'profiles'>): readonly FargateProfile[] =>
  predecessorsOf(desired, observed).filter(({ status }) => status === 'ACTIVE');

/** The recorded one if it is ACTIVE. */
export function servingPredecessor(desired: Desired, observed: Pick<Observed, 'profiles'>): FargateProfile | undefined {
  const active = activePredecessors(desired, observed);
  return active.find(({ name }) => name === desired.recorded.profileName) ?? active[0];
}

/** If EKS has no room for the wanted profile, only the last ACTIVE one stays. */
export function isKept(desired: Desired, observed: Pick<Observed, 'profiles'>, { name }: FargateProfile): boolean {
  const isActive = activePredecessors(desired, observed).some((each) => each.name === name);
  if (isSucceeded(desired, observed)) return isActive && keptUntil(desired) > desired.now;
  return desired.recorded.isQuotaExceeded ? servingPredecessor(desired, observed)?.name === name : isActive;
}

export function creatingReason(desired: Desired, observed: Pick<Observed, 'profiles'>, name: string): Reason {
  const serving = servingPredecessor(desired, observed);
  return serving === undefined
    ? newReason('Creating', { name })
    : newReason('Replacing', { name, predecessor: serving.name });
}

/** Of an object whose wanted profile serves pods, if none of its predecessors has to be deleted yet. */
export function keptReason(desired: Desired, observed: Pick<Observed, 'profiles'>): Reason | undefined {
  const kept = predecessorsOf(desired, observed);
  const { wanted, now } = desired;
  if (wanted === undefined || kept[0] === undefined) return undefined;
  const { name } = wanted.profile;
  const [taker = name] = [name, ...kept.map((each) => each.name)].toSorted((a, b) => (isPreferred(a, b) ? -1 : 1));
  const until = keptUntil(desired);
  return newReason('PredecessorKept', { name, predecessor: kept[0].name, taker, until, remaining: until - now });
}
