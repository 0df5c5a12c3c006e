import { formatTimestamp, type Ms } from 'controller-runtime/env';
import type { AWSFargateProfile, AWSFargateProfileStatus, StatusRole } from '../../../api/v1beta2/index.ts';
import type { FargateProfile } from '../../../pkg/cloud/index.ts';
import { boundaryAddition, isAdded, policyAddition } from '../../../pkg/fargate/tags/tag-drift.ts';
import { EMPTY_RECORD } from '../../shared/record.ts';
import { isDeleting, isRetained } from '../../shared/object-state.ts';
import type { Desired } from '../model/desired-state.ts';
import { type FoundRole, type Observed, findProfile, findRole } from '../model/observed-state.ts';
import type { Plan } from '../model/change.ts';
import { type AwsFacts, type CompletedReconcile } from '../model/result.ts';
import { type Reason, firstIssues } from '../reasons/reasons.ts';
import { conditionOf, conditionUpdate, mergeConditions } from './condition-list.ts';
import { conditionsAfter } from './conditions.ts';

/** The result keeps what this reconcile did not read. It equals the old status if nothing has changed. */
export function statusAfter(reconcile: CompletedReconcile): AWSFargateProfileStatus {
  const { object, facts } = reconcile;
  const { failureReason: _reason, failureMessage: _message, ...before } = object.status ?? {};
  const found = facts === undefined ? before : observedStatus(reconcile, before, facts);
  const conditions = mergeConditions(
    before.conditions ?? [],
    conditionsAfter(reconcile),
    formatTimestamp(reconcile.now),
  );
  return {
    ...found,
    observedGeneration: object.metadata.generation ?? 0,
    ready: conditionOf(conditions, 'Ready')?.status === 'True',
    deletionPolicy: effectiveDeletionPolicy(object),
    ...(reconcile.end === 'inSync' && { initialization: { ...before.initialization, provisioned: true } }),
    conditions,
  };
}

const effectiveDeletionPolicy = (object: AWSFargateProfile): 'Retain' | 'Delete' =>
  isRetained(object) ? 'Retain' : 'Delete';

/** `by` lists the causes in the words of Cluster API. */
export function pausedStatus(object: AWSFargateProfile, by: readonly string[], now: Ms): AWSFargateProfileStatus {
  const before = object.status ?? {};
  const causes = by.join(', ');
  const deleting = isDeleting(object)
    ? [conditionUpdate(object, 'Deleting', 'True', 'Paused', `The deletion waits for the end of the pause: ${causes}`)]
    : [];
  const updates = [conditionUpdate(object, 'Paused', 'True', 'Paused', causes), ...deleting];
  const conditions = mergeConditions(before.conditions ?? [], updates, formatTimestamp(now));
  return { ...before, deletionPolicy: effectiveDeletionPolicy(object), conditions };
}

function observedStatus(
  reconcile: CompletedReconcile,
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
  { desired, observed, after, plan }: AwsFacts,
): AWSFargateProfileStatus {
  const { record = EMPTY_RECORD } = reconcile;
  const { identity, place } = desired;
  const isShown = (found: FargateProfile): boolean => plan.profiles.some((own) => own.name === found.name);
  const name = plan.shown ?? before.profileName ?? identity.profileName;
  const found = findProfile(after.profiles, name);
  const profile = found !== undefined && isShown(found) ? found : undefined;
  const entry = record.profiles.find((each) => each.name === desired.profile?.name);
  const role = roleStatus(before.role, desired, after, plan);
  const predecessors = after.profiles
    .filter((each) => desired.profile !== undefined && each.name !== desired.profile.name)
    .filter((each) => isShown(each) && !desired.elsewhere.includes(each))
    .map(({ name: predecessor, status }) => ({ name: predecessor, status }));
  return {
    ...before,
    // If EKS has no cluster of this name, the account or region may be wrong, so neither is written.
    ...(observed.cluster === 'there' && {
      account: place.account,
      region: place.region,
      eksClusterName: identity.eksCluster,
    }),
    ...(record.identity && { identityRef: record.identity }),
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

function roleStatus(
  before: StatusRole | undefined,
  desired: Desired,
  { roles }: Observed,
  { isRoleManaged }: Plan,
): StatusRole | undefined {
  const { role: desiredRole } = desired;
  if (desiredRole === undefined) return before;
  const { name } = desiredRole;
  const role = findRole(roles, name);
  if (role === undefined || (desiredRole.kind === 'existing' && role.arn !== desiredRole.arn)) return before;
  const managed = desiredRole.kind === 'managed' && isRoleManaged;
  const boundary = role.permissionsBoundary;
  const isOwnBoundary =
    managed &&
    boundary !== undefined &&
    (isAdded(role.tags, boundaryAddition(boundary)) || desiredRole.permissionsBoundary === boundary);
  return {
    name: role.name,
    id: role.id,
    managed,
    ...(managed && { attachedPolicies: ownPolicies(desired, role) }),
    ...(isOwnBoundary && { permissionsBoundary: boundary }),
  };
}

/** Returns the attached policies that the spec contains, or that this controller attached before. */
function ownPolicies(desired: Desired, role: FoundRole): readonly string[] {
  const policies = desired.role?.kind === 'managed' ? desired.role.policies : [];
  return role.attached.filter((arn) => policies.includes(arn) || isAdded(role.tags, policyAddition(arn)));
}

/** Returns the status before a change that interrupts a profile's work, or `undefined` if `Ready` is not True. */
export function statusBefore(
  object: AWSFargateProfile,
  reason: Reason,
  facts: AwsFacts,
  now: Ms,
): AWSFargateProfileStatus | undefined {
  const { status = {} } = object;
  if (conditionOf(status.conditions, 'Ready')?.status !== 'True') return undefined;
  const updates = conditionsAfter({ object, end: reason, facts, now, waited: 0, attempts: 0 });
  return {
    ...status,
    observedGeneration: object.metadata.generation ?? 0,
    ready: false,
    conditions: mergeConditions(status.conditions ?? [], updates, formatTimestamp(now)),
  };
}
