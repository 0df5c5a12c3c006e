import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { profileIdOf } from '../../shared/record.ts';
import type { Desired } from '../model/desired-state.ts';
import { type Observed, areRolesUnread, findProfile, findRole } from '../model/observed-state.ts';
import { type Change, type Health, type Plan, type PlanPart } from '../model/change.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { adopt } from './adoption.ts';
import { findBlocker, findProfileBlocker, findRoleBlocker, findLimitNotice } from './blockers.ts';
import { ensureAccessEntry } from './access-entry.ts';
import {
  describeDifferences,
  desiredRoleArn,
  isRoleOurs,
  strippedProfileReason,
  strippedRoleReason,
} from './compare.ts';
import { ensureProfile, profileDrift } from './ensure-profile.ts';
import { ensureRole, roleDrift } from './ensure-role.ts';
import { keptRoles, removeUnwanted } from './remove.ts';
import { adviceFor, isRoleManaged, ownProfiles, profileToShow, refusedReads } from './verdicts.ts';
import { hasTakenOver, keptReason, transitReason } from './replace.ts';
import { ACTIVE } from '../model/profile-status.ts';
import { isRecreated } from '../record-after-read.ts';

/**
 * Plans the changes that make AWS match the spec. Unwanted profiles and roles are deleted before new ones are created
 * (docs/adr/0006). But with updateStrategy Replace, a profile that serves pods is deleted only after the desired
 * profile has taken over (docs/adr/0022). Profiles are deleted before roles and created after them, because a profile
 * needs its role.
 */
export function plan(desired: Desired, observed: Observed): Plan {
  const [changes, end] = collect(planParts(desired, observed));
  // Once the desired profile serves pods, nothing depends on the profile that it replaces.
  const isLeftover = end === undefined && hasTakenOver(desired, observed);
  const [removals, wait] = isLeftover ? collect(removeUnwanted(desired, observed)) : [[], undefined];
  const notices = [
    findLimitNotice(desired, observed),
    isLeftover ? (wait ?? keptReason(desired, observed)) : undefined,
  ];
  return {
    changes,
    leftovers: removals,
    end: end ?? (desired.profile === undefined ? 'released' : 'inSync'),
    profile: profileHealth(desired, observed),
    role: roleHealth(desired, observed),
    notices: notices.filter((notice) => notice !== undefined),
    kept: keptRoles(desired, observed),
    advice: end === undefined ? adviceFor(desired, observed) : [],
    profiles: ownProfiles(desired, observed),
    shown: profileToShow(desired, observed, end),
    isRoleManaged: isRoleManaged(desired, observed),
    refusedReads: refusedReads(desired, observed),
  };
}

function collect(parts: PlanPart): readonly [changes: readonly Change[], end: Reason | undefined] {
  const changes: Change[] = [];
  let next = parts.next();
  for (; !next.done; next = parts.next()) changes.push(next.value);
  return [changes, next.value];
}

function* planParts(desired: Desired, observed: Observed): PlanPart {
  const [elsewhere] = desired.elsewhere;
  if (elsewhere !== undefined) return managedElsewhere(desired, elsewhere);
  const transit = transitReason(desired, observed);
  if (transit !== undefined) return transit;
  const blocker = findBlocker(desired, observed);
  if (blocker !== undefined) return blocker;
  const adoption = yield* adopt(desired, observed);
  if (adoption !== undefined) return adoption;
  const protection = findProtectedDeletion(desired, observed);
  if (protection !== undefined) return protection;
  if (!hasTakenOver(desired, observed)) {
    const removal = yield* removeUnwanted(desired, observed);
    if (removal !== undefined) return removal;
  }
  const { profile, role } = desired;
  if (profile === undefined) return undefined;
  const endAtRole = yield* ensureRole(desired, observed, role);
  if (endAtRole !== undefined) return endAtRole;
  const roleArn = desiredRoleArn(desired, observed, role);
  const endAtProfile = yield* ensureProfile(desired, observed, profile, roleArn);
  if (endAtProfile !== undefined) return endAtProfile;
  // The check of the access entry needs the ID of the role, which is unknown if this plan creates the role.
  const found = findRole(observed.roles, role.name);
  if (found === undefined) return newReason('ReadAgain', { because: 'the role of a live profile was recreated' });
  return yield* ensureAccessEntry(desired, observed, found);
}

/** EKS would refuse to delete a protected cluster after the deletion of its profiles has stopped all their pods. */
function findProtectedDeletion(desired: Desired, observed: Observed): Reason | undefined {
  if (observed.deletionProtection?.kind !== 'on') return undefined;
  const [removals] = collect(removeUnwanted(desired, observed));
  const { eksCluster: cluster } = desired.identity;
  return removals.length === 0
    ? undefined
    : newReason('ClusterDeletionProtected', { cluster, region: desired.place.region });
}

/** Another management cluster, or a restored backup, has created this profile, and may need the object's resources. */
const managedElsewhere = ({ profile, abandonment }: Desired, { name, arn }: FargateProfile): Reason =>
  newReason('ManagedElsewhere', {
    name,
    id: profileIdOf(arn) ?? '',
    isDeleting: profile === undefined,
    abandonment,
  });

function roleHealth(desired: Desired, observed: Observed): Health {
  const role = desired.role;
  if (role === undefined || areRolesUnread(observed)) return 'notRead';
  const found = findRole(observed.roles, role.name);
  const isStripped = role.kind === 'managed' && found !== undefined && strippedRoleReason(desired, found) !== undefined;
  if (found === undefined || isRecreated(desired, found)) return 'broken';
  if (findRoleBlocker(desired, observed, role) !== undefined && !isStripped) return 'broken';
  if (role.kind === 'existing' || !isRoleOurs(desired, found)) return 'works';
  return healthAfter(roleDrift(desired, observed, role, found));
}

function profileHealth(desired: Desired, observed: Observed): Health {
  const { profile } = desired;
  if (profile === undefined) return 'notRead';
  const found = findProfile(observed.profiles, profile.name);
  if (found?.status !== ACTIVE) return 'broken';
  const isStripped = strippedProfileReason(desired, found) !== undefined;
  if (findProfileBlocker(desired, observed, profile) !== undefined && !isStripped) return 'broken';
  if (describeDifferences(desired, observed, found).length > 0) return 'broken';
  return healthAfter(profileDrift(profile, found));
}

const healthAfter = (drift: Iterable<Change>): Health => ([...drift].every(isHarmless) ? 'works' : 'broken');

/**
 * True if pods work without the change: it is optional, or it changes the role's tags. A change of tags is optional
 * only if the desired profile is ACTIVE.
 */
const isHarmless = ({ mutation: { kind }, optional }: Change): boolean =>
  optional === true || kind === 'tagRole' || kind === 'untagRole';
