import type { AWSFargateProfile, AWSFargateProfileStatus, StatusRole } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import { boundaryAddition, isAdded, policyAddition } from '../../../pkg/fargate/tags/tag-drift.ts';
import { EMPTY_NOTE, servedIn } from '../../shared/note.ts';
import { isDeleting, isRetained } from '../../shared/object-state.ts';
import { findProfile, findRole } from '../decide/compare.ts';
import { isSucceeded, servingPredecessor } from '../decide/replacement.ts';
import { isRoleOurs, strippedProfileReason } from '../decide/stripped-tags.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { oursOf, ownershipOf } from '../model/ownership.ts';
import type { Step } from '../model/outcome.ts';
import { type AwsFacts, type CompletedPass, reasonOf } from '../model/pass.ts';
import { type Reason, firstIssues } from '../reasons/reasons.ts';
import { type ConditionUpdate, conditionOf, mergeConditions } from './conditions/condition-list.ts';
import { conditionsAfter } from './conditions/conditions.ts';
import { profileAfter, roleAfter } from './facts-after.ts';

/**
 * The status is a report: a function of the pass, with what this pass did not read kept as it was. It equals the old one if
 * nothing has changed.
 */
export function statusAfter(pass: CompletedPass): AWSFargateProfileStatus {
  const { object, facts } = pass;
  const { failureReason: _reason, failureMessage: _message, ...before } = object.status ?? {};
  const found = facts === undefined ? before : observedStatus(pass, before, facts);
  const conditions = mergeConditions(before.conditions ?? [], conditionsAfter(pass), formatTimestamp(pass.now));
  return {
    ...found,
    observedGeneration: object.metadata.generation ?? 0,
    ready: conditionOf(conditions, 'Ready')?.status === 'True',
    deletionPolicy: effectiveDeletionPolicy(object),
    ...(isProvisioned(pass) && { initialization: { ...before.initialization, provisioned: true } }),
    conditions,
  };
}

const effectiveDeletionPolicy = (object: AWSFargateProfile): 'Retain' | 'Delete' =>
  isRetained(object) ? 'Retain' : 'Delete';

/** `by` lists the causes in the words of Cluster API. */
export function pausedStatus(object: AWSFargateProfile, by: readonly string[], now: Ms): AWSFargateProfileStatus {
  const before = object.status ?? {};
  const update = (type: string, message: string): ConditionUpdate => ({
    type,
    status: 'True',
    observedGeneration: object.metadata.generation ?? 0,
    reason: 'Paused',
    message,
  });
  const causes = by.join(', ');
  const deleting = isDeleting(object)
    ? [update('Deleting', `The deletion waits for the end of the pause: ${causes}`)]
    : [];
  const updates = [update('Paused', causes), ...deleting];
  const conditions = mergeConditions(before.conditions ?? [], updates, formatTimestamp(now));
  return { ...before, deletionPolicy: effectiveDeletionPolicy(object), conditions };
}

const isProvisioned = ({ object, end }: CompletedPass): boolean => end === 'inOrder' && !isDeleting(object);

function observedStatus(
  pass: CompletedPass,
  {
    profileARN: _arn,
    profileStatus: _status,
    podExecutionRoleARN: _role,
    health: _health,
    predecessors: _predecessors,
    activeSince: _since,
    createRequestedAt: _requested,
    identityRef: _identity,
    ...before
  }: AWSFargateProfileStatus,
  { desired, observed }: AwsFacts,
): AWSFargateProfileStatus {
  const { note = EMPTY_NOTE, execution } = pass;
  const { wanted, identity, place } = desired;
  const name = nameToReport(pass, desired, observed);
  const found = profileAfter(findProfile(observed.profiles, name), name, execution?.steps);
  const profile = found !== undefined && isOfObject(desired, found) ? found : undefined;
  const entry = note.profiles.find((each) => each.name === wanted?.profile.name);
  const role = roleStatus(before.role, desired, observed, execution?.steps);
  const predecessors = predecessorsAfter(desired, observed, execution?.steps);
  return {
    ...before,
    // If EKS has no such cluster, the account or region may be wrong.
    ...(observed.cluster === 'there' && {
      account: place.account,
      region: place.region,
      eksClusterName: identity.eksCluster,
    }),
    ...(note.identity && { identityRef: note.identity }),
    profileName: name,
    ...(profile && {
      profileARN: profile.arn,
      profileStatus: profile.status,
      podExecutionRoleARN: profile.podExecutionRoleArn,
      subnets: profile.subnets,
    }),
    ...(profile && profile.health.length > 0 && { health: { issues: firstIssues(profile.health) } }),
    ...(predecessors.length > 0 && { predecessors }),
    ...timeIn('activeSince', entry?.activeSince),
    ...timeIn('createRequestedAt', entry?.requestedAt),
    ...(role && { role }),
  };
}

const timeIn = (field: 'activeSince' | 'createRequestedAt', time: Ms | undefined) =>
  time !== undefined && { [field]: formatTimestamp(time) };

/** Until the wanted profile is ACTIVE, the one that serves in its place. */
function nameToReport(
  pass: CompletedPass,
  desired: Desired,
  observed: Observed,
): NonNullable<AWSFargateProfileStatus['profileName']> {
  const { note = EMPTY_NOTE, object } = pass;
  const { wanted, identity } = desired;
  const serving = isSucceeded(desired, observed) ? undefined : servingPredecessor(desired, observed);
  const ofReason = nameInReason(reasonOf(pass), observed);
  const ours = oursOf(desired, observed.profiles);
  const left = wanted === undefined ? (servedIn(note, ours) ?? ours[0]) : undefined;
  return (
    ofReason ??
    serving?.name ??
    wanted?.profile.name ??
    left?.name ??
    note.profiles[0]?.name ??
    object.status?.profileName ??
    identity.profileName
  );
}

/** The profile that stops the pass is the one that status shows. */
function nameInReason(reason: Reason | undefined, { profiles }: Observed): FargateProfile['name'] | undefined {
  const isAboutProfile =
    reason?.name === 'SpecDiffers' ||
    reason?.name === 'RetainBlocksClusterDeletion' ||
    (reason?.name === 'OwnershipTagMissing' && reason.facts.resource === 'Fargate profile');
  return isAboutProfile ? findProfile(profiles, reason.facts.name)?.name : undefined;
}

const isOfObject = (desired: Desired, found: FargateProfile): boolean =>
  ownershipOf(desired, found).kind === 'ours' || strippedProfileReason(desired, found) !== undefined;

function predecessorsAfter(
  desired: Desired,
  observed: Observed,
  steps: readonly Step[] | undefined,
): NonNullable<AWSFargateProfileStatus['predecessors']> {
  if (desired.wanted === undefined) return [];
  return observed.profiles.flatMap((found) => {
    const { name } = found;
    const after = profileAfter(found, name, steps);
    const isPredecessor = name !== desired.wanted?.profile.name && isOfObject(desired, found);
    return isPredecessor && after !== undefined ? [{ name, status: after.status }] : [];
  });
}

function roleStatus(
  before: StatusRole | undefined,
  desired: Desired,
  { roles }: Observed,
  steps: readonly Step[] = [],
): StatusRole | undefined {
  const { wanted } = desired;
  if (wanted === undefined) return before;
  const { name } = wanted.role;
  const role = roleAfter(findRole(roles, name), name, steps);
  if (role === undefined || (wanted.role.kind === 'existing' && role.arn !== wanted.role.arn)) return before;
  const managed = wanted.role.kind === 'managed' && isRoleOurs(desired, role);
  const boundary = role.permissionsBoundary;
  const isOwnBoundary =
    managed &&
    boundary !== undefined &&
    (isAdded(role.tags, boundaryAddition(boundary)) || wanted.role.permissionsBoundary === boundary);
  return {
    name: role.name,
    id: role.id,
    managed,
    ...(managed && { attachedPolicies: ownPolicies(desired, role) }),
    ...(isOwnBoundary && { permissionsBoundary: boundary }),
  };
}

/** The policies that the spec asks for, and those that this controller attached before. */
function ownPolicies({ wanted }: Desired, role: FoundRole): readonly string[] {
  const policies = wanted?.role.kind === 'managed' ? wanted.role.policies : [];
  return role.attached.filter((arn) => policies.includes(arn) || isAdded(role.tags, policyAddition(arn)));
}
