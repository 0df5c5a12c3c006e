import { describeDifferences, findProfile, findRole, isRecreated, wantedRoleArn } from './compare.ts';
import { ensureAccessEntry } from './change-access-entry.ts';
import { ensureProfile } from './ensure-profile.ts';
import { ensureRole } from './ensure-role.ts';
import type { Decision } from '../model/decision.ts';
import type { Desired } from '../model/desired-state.ts';
import type { Observed } from '../model/observed-state.ts';
import { findBlocker, findProfileBlocker, findRoleBlocker } from './blockers.ts';
import type { Reason } from '../reasons/reasons.ts';
import { findLimitNotice, withoutBoundaryFromLimits } from './operator-limit-blocker.ts';
import { removeUnwanted } from './remove.ts';
import { readModeFirst } from './role-path.ts';
import { withRestoredTags } from './stripped-tags.ts';

/**
 * Decides the next step from the observed to the desired state of AWS; a pure function.
 *
 * Unwanted profiles and roles are deleted before new ones are created, because status has room for one profile name and
 * one role name (docs/adr/0006). Profiles are deleted before roles and created after roles, because a profile needs its
 * role as long as it exists.
 */
export function decide(desired: Desired, observed: Observed): Decision {
  return (
    findBlocker(desired, observed) ??
    removeUnwanted(desired, observed) ??
    ensure(desired, observed) ??
    ensureAccessEntry(desired, observed) ??
    readModeFirst(desired, observed, 'readiness') ??
    settled(findLimitNotice(desired, observed))
  );
}

/**
 * Returns the next step to create or correct the IAM role and then the Fargate profile, which needs the role.
 * `undefined` if both are as wanted.
 */
function ensure(desired: Desired, observed: Observed): Decision | undefined {
  if (desired.wanted === undefined) return undefined;
  return (
    ensureRole(desired, observed, desired.wanted.role) ??
    ensureProfile(desired, observed, desired.wanted.profile, wantedRoleArn(desired, observed, desired.wanted.role))
  );
}

const settled = (notice: Reason | undefined): Decision => ({ kind: 'settled', ...(notice && { notice }) });

/**
 * Whether AWS has the IAM role that the spec asks for, with the wanted settings. Tags do not count, because pods run
 * without them.
 */
export const isRoleInOrder = (desired: Desired, seen: Observed): boolean => {
  const observed = withRestoredTags(desired, seen);
  return (
    desired.wanted !== undefined &&
    findRoleBlocker(desired, observed) === undefined &&
    ensureRole(desired, observed, desired.wanted.role) === undefined
  );
};

/** Whether EKS has the Fargate profile that the spec asks for, ACTIVE and with the wanted settings. Tags do not count. */
export const isProfileInOrder = (desired: Desired, seen: Observed): boolean => {
  const { wanted } = desired;
  const observed = withRestoredTags(desired, seen);
  const found = wanted && findProfile(observed.profiles, wanted.profile.name);
  return (
    wanted !== undefined &&
    found !== undefined &&
    describeDifferences(desired, observed, found).length === 0 &&
    observed.cluster === 'there' &&
    findProfileBlocker(desired, observed, wanted.profile) === undefined &&
    ensureProfile(desired, observed, wanted.profile, wantedRoleArn(desired, observed, wanted.role)) === undefined
  );
};

/**
 * Whether pods can run on the Fargate profile with its role. Tags do not count. The role of an ACTIVE profile may also
 * lack a permissions boundary that only the operator's flags require.
 */
export const isWorking = (desired: Desired, observed: Observed): boolean => {
  const role = desired.wanted && findRole(observed.roles, desired.wanted.role.name);
  if (role === undefined || isRecreated(desired, role)) return false;
  const relaxed = withoutBoundaryFromLimits(desired, observed);
  return isRoleInOrder(relaxed, observed) && isProfileInOrder(relaxed, observed);
};
