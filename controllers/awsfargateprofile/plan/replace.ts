import type { Ms } from 'controller-runtime/env';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isLabelValue } from '../../../pkg/fargate/fargate-pods.ts';
import { findOverlap, isPreferred } from '../../../pkg/fargate/overlap.ts';
import { servedIn } from '../../shared/record.ts';
import type { Desired } from '../model/desired-state.ts';
import type { DrainObstacle } from '../model/drained.ts';
import type { Observed } from '../model/observed-state.ts';
import { oursOf } from '../model/identity.ts';
import { entryOf } from '../settle-record.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { isAsWanted, areSubnetsAsWanted, replacementFacts } from './compare.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import { ACTIVE, CREATING, DELETING } from '../model/profile-status.ts';

/** The minimum time, so that EKS knows the wanted profile everywhere before its predecessors are deleted. */
const SHORTEST_OVERLAP: Ms = 30_000;

type Profiles = Pick<Observed, 'profiles'>;

const wantedOf = (desired: Desired, { profiles }: Profiles): FargateProfile | undefined =>
  oursOf(desired, profiles).find(({ name }) => name === desired.wanted?.profile.name);

const predecessorsOf = (desired: Desired, { profiles }: Profiles): readonly FargateProfile[] =>
  oursOf(desired, profiles).filter(({ name }) => name !== desired.wanted?.profile.name);

/**
 * Reports whether the wanted profile has taken over. A profile with the wanted name that differs from the spec does not
 * take over.
 */
export function isSucceeded(desired: Desired, observed: Observed): boolean {
  const found = wantedOf(desired, observed);
  return found?.status === ACTIVE && isAsWanted(desired, observed, found);
}

/**
 * Returns since when this profile, identified by its unique id, has been ACTIVE and wanted, in ms since 1970. A time in
 * the future comes from a wrong clock, and counts as now.
 */
export function activeSince(desired: Desired, found: FargateProfile): Ms {
  return Math.min(entryOf(desired.record, found)?.activeSince ?? desired.now, desired.now);
}

/** Returns until when the predecessors stay next to the ACTIVE wanted profile, in ms since 1970. */
export function keptUntil(desired: Desired, observed: Profiles): Ms {
  const wanted = wantedOf(desired, observed);
  const since = wanted === undefined ? desired.now : activeSince(desired, wanted);
  return since + Math.max(SHORTEST_OVERLAP, desired.keepPredecessorFor);
}

/** Returns the ACTIVE predecessor that served last. Pods use it until the wanted profile is ACTIVE. */
export function servingPredecessor(desired: Desired, observed: Profiles): FargateProfile | undefined {
  const active = predecessorsOf(desired, observed).filter(({ status }) => status === ACTIVE);
  return servedIn(desired.record, active) ?? active[0];
}

export function creatingReason(desired: Desired, observed: Profiles, name: string): Reason {
  const serving = servingPredecessor(desired, observed);
  return serving === undefined
    ? newReason('Creating', { name })
    : newReason('Replacing', { name, predecessor: serving.name });
}

/**
 * Returns the reason to report while the wanted profile serves pods and none of its predecessors has to be deleted yet.
 */
export function keptReason(desired: Desired, observed: Profiles): Reason | undefined {
  const kept = predecessorsOf(desired, observed);
  const { wanted, now } = desired;
  if (wanted === undefined || kept[0] === undefined) return undefined;
  const { name } = wanted.profile;
  const [first = name] = [name, ...kept.map((each) => each.name)].toSorted((a, b) => (isPreferred(a, b) ? -1 : 1));
  const taker = findOverlap(wanted.profile, kept[0]) === undefined ? undefined : first;
  const until = keptUntil(desired, observed);
  const predecessor = kept[0].name;
  const obstacle = drainObstacle(predecessor, name);
  const drain = desired.drainTimeout > 0 && { timeout: desired.drainTimeout, ...(obstacle && { obstacle }) };
  const facts = { name, predecessor, taker, until, remaining: until - now, ...(drain && { drain }) };
  return newReason('PredecessorKept', facts);
}

/**
 * Returns why pods cannot be moved. EKS writes the profile's name into a label of its pods, and assigns a new pod to
 * the matching profile whose name comes first.
 */
export function drainObstacle(predecessor: string, successor: string): DrainObstacle | undefined {
  if (!isLabelValue(predecessor)) return 'noLabel';
  return isPreferred(successor, predecessor) ? undefined : 'comesLater';
}

export function transitReason(desired: Desired, observed: Observed): Reason | undefined {
  // Once the wanted profile serves pods, the reconcile does not wait for EKS's changes to its predecessors.
  if (isSucceeded(desired, observed)) return undefined;
  for (const found of oursOf(desired, observed.profiles)) {
    if (found.status === DELETING) return newReason('DeletingProfile', replacementFacts(desired, found));
    if (found.status !== CREATING) continue;
    // With `deletionPolicy: Retain`, the controller does not delete the profile afterwards.
    return isCreatedAsWanted(desired, found) || desired.unwanted === 'retain'
      ? creatingReason(desired, observed, found.name)
      : newReason('WaitingForCreate', replacementFacts(desired, found));
  }
  return undefined;
}

/**
 * Reports whether a profile that is being created matches the spec. Its role is not compared, because it has not been
 * read yet.
 */
function isCreatedAsWanted(desired: Desired, found: FargateProfile): boolean {
  const wanted = desired.wanted?.profile;
  return (
    wanted?.name === found.name &&
    areSelectorsEqual(wanted.selectors, found.selectors) &&
    areSubnetsAsWanted(desired, wanted, found)
  );
}
