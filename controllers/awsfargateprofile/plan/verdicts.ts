import { toPrintableLine } from 'controller-runtime/text';
import type { ProfileName } from '../../../api/names.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { joinParts } from '../../shared/message.ts';
import { servedIn, isEntryOf } from '../../shared/record.ts';
import { type Advice, type Mutation, type OwnProfile, type RefusedRead, subjectOf } from '../model/change.ts';
import type { Desired } from '../model/desired-state.ts';
import { oursOf, ownershipOf } from '../model/owner.ts';
import { type Observed, findProfile, findRole } from '../model/observed-state.ts';
import { type Reason, quoteIssues, messageOf, newReason } from '../reasons/reasons.ts';
import { findRolePathProblem } from './blockers.ts';
import { isRoleOurs, strippedProfileReason } from './compare.ts';
import { creatingReason, hasTakenOver, servingPredecessor } from './replace.ts';
import { ACTIVE } from '../model/profile-status.ts';

// This file computes what the plan says for status, conditions, and events. The report/ folder makes no decisions.

/** Until these changes are complete, new pods cannot start on an ACTIVE profile. */
const RESTORING_ROLE: readonly Mutation['kind'][] = ['createRole', 'deleteAccessEntry', 'createAccessEntry'];

/** Returns why no pod can start on the profile until AWS has made this change, and maybe others. */
export function interruptionBy(mutation: Mutation, desired: Desired, observed: Observed): Reason | undefined {
  if (mutation.kind === 'deleteProfile')
    return hasTakenOver(desired, observed) ? undefined : newReason('DeletingProfile', { name: mutation.name });
  const { profile, role, identity } = desired;
  if (profile === undefined) return undefined;
  const { name } = profile;
  if (findProfile(observed.profiles, name)?.status !== ACTIVE) return creatingReason(desired, observed, name);
  return RESTORING_ROLE.includes(mutation.kind) && subjectOf(mutation) === role.name
    ? newReason('RestoringRole', { name: role.name, cluster: identity.eksCluster })
    : undefined;
}

export const adviceFor = (desired: Desired, observed: Observed): readonly Advice[] => [
  ...healthAdvice(desired, observed),
  ...rolePathAdvice(desired, observed),
];

function healthAdvice({ profile }: Desired, { profiles }: Observed): readonly Advice[] {
  const found = profiles.find(({ name }) => name === profile?.name);
  if (found === undefined || found.health.length === 0) return [];
  const message = toPrintableLine(
    joinParts({
      problem: `EKS reports health issues of Fargate profile "${found.name}"`,
      remedy: 'New pods may fail to start until you fix this',
      quote: quoteIssues(found.health),
    }),
  );
  return [{ event: 'UnhealthyEKSFargateProfile', message, isInStatus: true }];
}

function rolePathAdvice(desired: Desired, observed: Observed): readonly Advice[] {
  const reason = findRolePathProblem(desired, observed, { isLive: true });
  return reason === undefined ? [] : [{ event: reason.name, message: messageOf(reason), isInStatus: false }];
}

/** The result includes the profile that the plan is to create. */
export function ownProfiles(desired: Desired, { profiles }: Observed): readonly OwnProfile[] {
  const desiredName = desired.profile?.name;
  const isToBeCreated = desiredName !== undefined && findProfile(profiles, desiredName) === undefined;
  const found = profiles.flatMap((each): readonly OwnProfile[] => {
    const isOurs = ownershipOf(desired, each).kind === 'ours';
    const isProven = isOurs || isEntryOf(desired.record.profiles, each);
    return isOurs || strippedProfileReason(desired, each) !== undefined ? [{ name: each.name, isProven }] : [];
  });
  return isToBeCreated ? [...found, { name: desiredName, isProven: true }] : found;
}

/**
 * Returns the name of the profile that status shows: the profile that stops the reconcile, else the profile on which
 * pods start until the desired profile has taken over, else the desired profile.
 */
export function profileToShow(desired: Desired, observed: Observed, end: Reason | undefined): ProfileName | undefined {
  const stopping = end && profileIn(end, observed);
  if (stopping !== undefined) return stopping.name;
  const { profile, record } = desired;
  if (profile === undefined) {
    const ours = oursOf(desired, observed.profiles);
    const serving = servingPredecessor(desired, observed) ?? servedIn(record, ours) ?? ours[0];
    return serving?.name ?? record.profiles[0]?.name;
  }
  const serving = hasTakenOver(desired, observed) ? undefined : servingPredecessor(desired, observed);
  return serving?.name ?? profile.name;
}

function profileIn(reason: Reason, { profiles }: Observed): FargateProfile | undefined {
  const isAboutProfile =
    reason.name === 'SpecDiffers' ||
    reason.name === 'RetainBlocksClusterDeletion' ||
    (reason.name === 'OwnershipTagMissing' && reason.facts.resource === 'Fargate profile');
  return isAboutProfile ? findProfile(profiles, reason.facts.name) : undefined;
}

/** Returns true also for a role that the plan is to create. */
export function isRoleManaged(desired: Desired, { roles }: Observed): boolean {
  const role = desired.role;
  if (role?.kind !== 'managed') return false;
  const found = findRole(roles, role.name);
  return found === undefined || isRoleOurs(desired, found);
}

export function refusedReads(
  { identity }: Desired,
  { accessEntries = [], deletionProtection }: Observed,
): readonly RefusedRead[] {
  const ofEntries = accessEntries.flatMap(({ principal, refusal }): readonly RefusedRead[] =>
    refusal === undefined ? [] : [{ of: 'accessEntry', principal, refusal }],
  );
  if (deletionProtection?.kind !== 'unreadable') return ofEntries;
  const { eksCluster } = identity;
  return [...ofEntries, { of: 'deletionProtection', eksCluster, refusal: deletionProtection.refusal }];
}
