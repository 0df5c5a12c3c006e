import type { Ms } from 'controller-runtime/env';
import type { ProfileName } from '../../../api/names.ts';
import type { Competitor } from '../../../pkg/fargate/overlap.ts';
import type { Desired } from '../model/desired-state.ts';
import type { DrainObstacle } from '../model/drained.ts';
import type { Mutation } from '../model/change.ts';
import { type Observed, findProfile } from '../model/observed-state.ts';
import { ACTIVE } from '../model/profile-status.ts';
import { entryOf } from '../update-record.ts';
import { activeSince, drainObstacle } from './replace.ts';

/** Moves a predecessor's pods to the profile that replaces it, before the predecessor is deleted. */
export interface Drain {
  readonly predecessor: ProfileName;
  readonly successor: Competitor;
  /** The time on AWS's clock, like `until`. Pods that were created later are not moved. */
  readonly since: Ms;
  readonly until: Ms;
  /** Why pods cannot be moved. */
  readonly obstacle?: DrainObstacle;
}

/** Returns the drain that has to precede the mutation; `undefined` if none is needed. */
export function drainBefore(mutation: Mutation, desired: Desired, observed: Observed): Drain | undefined {
  const { profile, drainTimeout, record, now } = desired;
  if (mutation.kind !== 'deleteProfile' || mutation.because !== 'replaced' || drainTimeout === 0) return undefined;
  const found = findProfile(observed.profiles, mutation.name);
  const successor = profile && findProfile(observed.profiles, profile.name);
  if (found?.status !== ACTIVE || successor === undefined) return undefined;
  const recorded = entryOf(record, found)?.drainSince;
  // An older drain moved pods to a different profile. A time in the future comes from a wrong clock, and counts as now.
  const since = recorded === undefined || recorded < activeSince(desired, successor) ? now : Math.min(recorded, now);
  const obstacle = drainObstacle(mutation.name, successor.name);
  return {
    predecessor: mutation.name,
    successor: { name: successor.name, selectors: successor.selectors },
    since,
    until: since + drainTimeout,
    ...(obstacle !== undefined && { obstacle }),
  };
}
