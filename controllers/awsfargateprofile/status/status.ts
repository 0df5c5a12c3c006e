import type { AWSFargateProfile, AWSFargateProfileStatus, StatusRole } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import { isDeleting, isRetained } from '../../shared/object-state.ts';
import { type ConditionUpdate, conditionOf, mergeConditions } from './conditions/condition-list.ts';
import { isRecorded, isRecreated, ownershipOf, findProfile, findRole } from '../decide/compare.ts';
import { isSucceeded, servingPredecessor } from '../decide/replacement.ts';
import { isRoleOurs, strippedProfileReason } from '../decide/stripped-tags.ts';
import type { Desired } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import { type Step, isWithoutEffect } from '../model/outcome.ts';
import { type AwsFacts, type CompletedPass, type PassEnd, noticesOf, reasonOf } from '../model/pass.ts';
import { type Reason, firstIssues } from '../reasons/reasons.ts';
import { profileAfter, roleAfter } from './facts-after.ts';
import { replacementAfter } from './replacement.ts';
import { tagKeysOf, withTagKeysOf } from './write-ahead.ts';
import { conditionsAfter } from './conditions/conditions.ts';

/** The new status equals the old one if nothing has changed. */
export function statusAfter(pass: CompletedPass): AWSFargateProfileStatus {
  const { object, facts } = pass;
  const { failureReason: _reason, failureMessage: _message, ...before } = object.status ?? {};
  const found = facts === undefined ? before : observedStatus(pass, before, facts);
  const conditions = mergeConditions(before.conditions ?? [], conditionsAfter(pass, found), formatTimestamp(pass.now));
  const ready = conditionOf(conditions, 'Ready')?.status === 'True';
  const status: AWSFargateProfileStatus = {
    ...found,
    observedGeneration: object.metadata.generation ?? 0,
    ready,
    deletionPolicy: effectiveDeletionPolicy(object),
    ...(isProvisioned(pass) && { initialization: { ...before.initialization, provisioned: true } }),
    conditions,
  };
  if (!isCreateRefused(pass)) return status;
  const { createRequestedAt: _withdrawn, ...rest } = status;
  return rest;
}

const effectiveDeletionPolicy = (object: AWSFargateProfile): 'Retain' | 'Delete' =>
  isRetained(object) ? 'Retain' : 'Delete';

/** EKS refused the creation, so a deletion need not wait for a profile to appear. */
function isCreateRefused({ facts, execution }: CompletedPass): boolean {
  const create = execution?.steps.findLast(({ mutation }) => mutation.kind === 'createProfile');
  return (
    facts?.desired.recorded.isCreateUnconfirmed === false && create !== undefined && isWithoutEffect(create.outcome)
  );
}

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
    profileARN,
    profileStatus: _status,
    podExecutionRoleARN: _role,
    health: _health,
    successor: _successor,
    predecessors: _predecessors,
    ...before
  }: AWSFargateProfileStatus,
  { desired, observed }: AwsFacts,
): AWSFargateProfileStatus {
  const { end, execution } = pass;
  const { wanted, recorded, identity, place } = desired;
  const reason = reasonOf(pass);
  const differing = reason?.name === 'SpecDiffers' ? reason.facts.name : undefined;
  const serving = isSucceeded(desired, observed) ? undefined : servingPredecessor(desired, observed);
  const name =
    differing ??
    keptProfileName(reason) ??
    serving?.name ??
    wanted?.profile.name ??
    recorded.profileName ??
    identity.profileName;
  const found = profileAfter(findProfile(observed.profiles, name), name, execution?.steps);
  const isOurs =
    found !== undefined &&
    (ownershipOf(desired, found).kind === 'ours' || strippedProfileReason(desired, found) !== undefined);
  const profile = isOurs ? found : undefined;
  // The profile has disappeared, or another owner has its name.
  const { createRequestedAt, ...withoutRequest } = before;
  const isGone = profileARN !== undefined && !recorded.isCreateUnconfirmed;
  // The ARN is then that of the profile before.
  const isRequested = execution?.steps.some(({ mutation }) => mutation.kind === 'createProfile') === true;
  const isOver = profile === undefined && !isRequested && (isGone || found !== undefined);
  const request = isOver || createRequestedAt === undefined ? {} : { createRequestedAt };
  const isSuccessor = desired.isReplaceable && recorded.profileName !== name;
  // The recorded subnets are the wanted ones if spec.subnetIDs is empty.
  const keepsSubnets =
    differing !== undefined ||
    (before.initialization?.provisioned === true && !isSuccessor && (before.subnets ?? []).length > 0);
  const role = roleStatus(before.role, pass, desired, observed);
  return {
    ...withoutRequest,
    ...request,
    // If EKS has no such cluster, the account or region may be wrong.
    ...(observed.cluster === 'there' && {
      account: place.account,
      region: place.region,
      eksClusterName: identity.eksCluster,
    }),
    ...(profile && {
      profileARN: profile.arn,
      profileStatus: profile.status,
      podExecutionRoleARN: profile.podExecutionRoleArn,
      ...(!keepsSubnets && { subnets: profile.subnets }),
    }),
    ...(profile && profile.health.length > 0 && { health: { issues: firstIssues(profile.health) } }),
    // Once AWS matches the spec, recorded tags that the spec does not ask for are gone, unless AWS has refused a
    // change.
    ...(wanted &&
      end === 'inOrder' && {
        profileName: wanted.profile.name,
        tagKeys: noticesOf(pass).length === 0 ? tagKeysOf(wanted) : withTagKeysOf(wanted, before.tagKeys),
      }),
    ...(role && { role }),
    ...replacementAfter(pass, { desired, observed }, before),
  };
}

/**
 * Status keeps the ARN of a profile that stops the pass, even after a change of spec.profileName: without the tags,
 * nothing else tells that the profile belongs to this object.
 */
function keptProfileName(reason: Reason | undefined): string | undefined {
  if (reason?.name === 'RetainBlocksClusterDeletion') return reason.facts.name;
  return reason?.name === 'OwnershipTagMissing' && reason.facts.resource === 'Fargate profile'
    ? reason.facts.name
    : undefined;
}

/**
 * An earlier role of this controller stays in status while it exists, because nothing else tells that it has to be
 * deleted.
 */
function roleStatus(
  before: StatusRole | undefined,
  { end, execution }: CompletedPass,
  desired: Desired,
  { roles }: Observed,
): StatusRole | undefined {
  const steps = execution?.steps ?? [];
  const { wanted, recorded } = desired;
  const name = wanted?.role.name ?? recorded.roleName;
  const role = name === undefined ? undefined : roleAfter(findRole(roles, name), name, steps);
  if (role === undefined) {
    return before !== undefined && isRoleRefused(steps) ? withoutPolicies(before) : before;
  }
  const isNamed = wanted?.role.kind !== 'existing' || role.arn === wanted.role.arn;
  const isFormerLeft =
    recorded.isRoleManaged !== false &&
    recorded.roleName !== undefined &&
    !isRecorded(desired, role.name) &&
    findRole(roles, recorded.roleName) !== undefined;
  if (!isNamed || (isFormerLeft && end !== 'inOrder')) return before;
  const managed = wanted?.role.kind !== 'existing' && isRoleOurs(desired, role);
  const attachedPolicies = managed ? policiesOfThisController(before, desired, role) : undefined;
  const permissionsBoundary = managed ? boundaryOfThisController(desired, role) : undefined;
  return {
    name: role.name,
    // The id of a deleted role stays until the access entry belongs to the new role, or until a user confirms that it
    // was recreated.
    id: (end !== 'inOrder' && isRecreated(desired, role) ? before?.id : undefined) ?? role.id,
    managed,
    ...(managed && withCheckedEntry(before, end, role)),
    ...(attachedPolicies && { attachedPolicies }),
    ...(permissionsBoundary !== undefined && { permissionsBoundary }),
  };
}

/** The role then has none of the policies that status recorded before the request. */
const isRoleRefused = (steps: readonly Step[]): boolean =>
  steps.some(({ mutation, outcome }) => mutation.kind === 'createRole' && isWithoutEffect(outcome));

function withoutPolicies({ attachedPolicies: _attached, ...role }: StatusRole): StatusRole {
  return role;
}

function boundaryOfThisController(desired: Desired, role: FoundRole): string | undefined {
  const { wanted, recorded } = desired;
  const inSpec = wanted?.role.kind === 'managed' ? wanted.role.permissionsBoundary : undefined;
  const before = isRecorded(desired, role.name) ? recorded.permissionsBoundary : undefined;
  return [inSpec, before].find((arn) => arn === role.permissionsBoundary);
}

/**
 * A policy that the spec no longer has stays in status until it is detached: nothing else tells that this controller
 * attached it.
 */
function policiesOfThisController(
  before: StatusRole | undefined,
  desired: Desired,
  role: FoundRole,
): readonly string[] | undefined {
  const { wanted, recorded } = desired;
  const isSameRole = isRecorded(desired, role.name);
  if (wanted?.role.kind !== 'managed') return isSameRole ? before?.attachedPolicies : undefined;
  const attached = isSameRole ? recorded.attachedPolicies : [];
  return [...new Set([...wanted.role.policies, ...attached])].filter((arn) => role.attached.includes(arn));
}

/** The check of the access entry comes before the end `inOrder`. */
function withCheckedEntry(
  before: StatusRole | undefined,
  end: PassEnd,
  { id }: FoundRole,
): Pick<StatusRole, 'accessEntryCheckedFor'> {
  const checked = end === 'inOrder' ? id : before?.accessEntryCheckedFor;
  return checked === undefined ? {} : { accessEntryCheckedFor: checked };
}
