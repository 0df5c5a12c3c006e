import type { Ms } from 'controller-runtime/env';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { isLabelValue } from '../../../pkg/fargate/fargate-pods.ts';
import { findOverlap, isPreferred } from '../../../pkg/fargate/overlap.ts';
import { servedIn, entryOf } from '../../shared/record.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { isStamped, oursOf } from '../model/owner.ts';
import { type DrainObstacle, type Reason, newReason } from '../reasons/reasons.ts';
import { isAsDesired, areSubnetsAsDesired, replacementFacts } from './compare.ts';
import { areSelectorsEqual } from '../../../pkg/fargate/selectors.ts';
import { ACTIVE, CREATING, DELETING } from '../model/profile-status.ts';

/** Predecessors are kept at least this long, until EKS knows the desired profile everywhere. */
const SHORTEST_OVERLAP: Ms = 30_000;

type Profiles = Pick<Observed, 'profiles'>;

const desiredProfileIn = (desired: Desired, { profiles }: Profiles): FargateProfile | undefined =>
  oursOf(desired, profiles).find(({ name }) => name === desired.profile?.name);

const predecessorsOf = (desired: Desired, { profiles }: Profiles): readonly FargateProfile[] =>
  oursOf(desired, profiles).filter(({ name }) => name !== desired.profile?.name);

/** Whether the desired profile has taken over. An ACTIVE profile with its name may still differ from the spec. */
export function hasTakenOver(desired: Desired, observed: Observed): boolean {
  const found = desiredProfileIn(desired, observed);
  return found?.status === ACTIVE && isStamped(desired, found) && isAsDesired(desired, observed, found);
}

/** Returns ms since 1970. A time in the future comes from a wrong clock, and counts as now. */
export function activeSince(desired: Desired, found: FargateProfile): Ms {
  return Math.min(entryOf(desired.record, found)?.activeSince ?? desired.now, desired.now);
}

/** Until when the predecessors are kept next to the ACTIVE desired profile, in ms since 1970. */
export function keptUntil(desired: Desired, observed: Profiles): Ms {
  const found = desiredProfileIn(desired, observed);
  const since = found === undefined ? desired.now : activeSince(desired, found);
  return since + Math.max(SHORTEST_OVERLAP, desired.keepPredecessorFor);
}

/**
 * Returns the predecessor that stays because EKS reports health issues of the desired profile: pods may not start on
 * it. A predecessor without health issues is preferred. If all have some, such as those of a role that all use, the
 * pods that already run still need their profile. All other predecessors go, so that they do not fill the quota of the
 * EKS cluster.
 */
export function indispensablePredecessor(desired: Desired, observed: Profiles): FargateProfile | undefined {
  const isHealthy = ({ health }: FargateProfile): boolean => health.length === 0;
  const found = desiredProfileIn(desired, observed);
  if (found === undefined || isHealthy(found)) return undefined;
  return servingPredecessor(desired, observed, isHealthy) ?? servingPredecessor(desired, observed);
}

/** Returns the predecessor on which pods start until the desired profile is ACTIVE. */
export function servingPredecessor(
  desired: Desired,
  observed: Profiles,
  isCandidate: (profile: FargateProfile) => boolean = () => true,
): FargateProfile | undefined {
  const active = predecessorsOf(desired, observed).filter((each) => each.status === ACTIVE && isCandidate(each));
  return servedIn(desired.record, active) ?? active[0];
}

export function creatingReason(desired: Desired, observed: Profiles, name: string): Reason {
  const serving = servingPredecessor(desired, observed);
  return serving === undefined
    ? newReason('Creating', { name })
    : newReason('Replacing', { name, predecessor: serving.name });
}

/** Returns why predecessors are kept although the desired profile has taken over. `undefined` without predecessors. */
export function keptReason(desired: Desired, observed: Profiles): Reason | undefined {
  const indispensable = indispensablePredecessor(desired, observed);
  const kept = predecessorsOf(desired, observed);
  const shown = indispensable ?? kept[0];
  const { profile, now } = desired;
  if (profile === undefined || shown === undefined) return undefined;
  const { name } = profile;
  const [first = name] = [name, ...kept.map((each) => each.name)].toSorted((a, b) => (isPreferred(a, b) ? -1 : 1));
  const taker = findOverlap(profile, shown) === undefined ? undefined : first;
  const until = keptUntil(desired, observed);
  const predecessor = shown.name;
  const obstacle = drainObstacle(predecessor, name);
  const drain = desired.drainTimeout > 0 && { timeout: desired.drainTimeout, ...(obstacle && { obstacle }) };
  const isSuccessorUnhealthy = indispensable !== undefined;
  const facts = {
    name,
    predecessor,
    taker,
    until,
    remaining: until - now,
    isSuccessorUnhealthy,
    ...(drain && { drain }),
  };
  return newReason('PredecessorKept', facts);
}

/**
 * Returns why the predecessor cannot be drained. A drain needs the predecessor's name as a label value, to find its
 * pods. New pods must start on the successor: EKS assigns a pod to the matching profile whose name sorts first.
 */
export function drainObstacle(predecessor: string, successor: string): DrainObstacle | undefined {
  if (!isLabelValue(predecessor)) return 'noLabel';
  return isPreferred(successor, predecessor) ? undefined : 'comesLater';
}

export function transitReason(desired: Desired, observed: Observed): Reason | undefined {
  // Once the desired profile serves pods, the reconcile does not wait for EKS's changes to its predecessors.
  if (hasTakenOver(desired, observed)) return undefined;
  for (const found of oursOf(desired, observed.profiles)) {
    if (found.status === DELETING) return newReason('DeletingProfile', replacementFacts(desired, found));
    if (found.status !== CREATING) continue;
    // `WaitingForCreate` says that the profile is deleted afterwards, which is wrong with `deletionPolicy: Retain`.
    return isCreatedAsDesired(desired, found) || desired.unwanted === 'retain'
      ? creatingReason(desired, observed, found.name)
      : newReason('WaitingForCreate', replacementFacts(desired, found));
  }
  return undefined;
}

/** Does not compare the role, because it has not been read yet. */
function isCreatedAsDesired(desired: Desired, found: FargateProfile): boolean {
  const { profile } = desired;
  return (
    profile?.name === found.name &&
    areSelectorsEqual(profile.selectors, found.selectors) &&
    areSubnetsAsDesired(desired, profile, found)
  );
}
