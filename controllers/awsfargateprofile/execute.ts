import type { Clock, Ms } from 'controller-runtime/env';
import * as aws from '../../pkg/cloud/index.ts';
import { TRUST_PATIENCE, VISIBILITY_PATIENCE, updatePauseAfter } from './aws-patience.ts';
import { isSameRoleName } from '../../pkg/fargate/names.ts';
import { findSelectorProblem } from '../../pkg/fargate/selectors.ts';
import { isAddedTagKey } from '../../pkg/fargate/tags/tag-drift.ts';
import { reasonForFailure } from './aws/failure-reasons.ts';
import { mutate } from './aws/mutate.ts';
import { roleRecreated } from './plan/access-entry.ts';
import { isManagedHere } from './model/owner.ts';
import { findRole } from './model/observed-state.ts';
import type { Claims } from './guards/role-users/claims.ts';
import { type Guard, findObstacle, type ReconcileState } from './guards/guards.ts';
import type { ClusterQueues } from './cluster-queue.ts';
import {
  type Mutation,
  describeQueued,
  isAccessEntryMutation,
  isCreation,
  isQueuedMutation,
  isRoleRemoval,
  resourceOf,
  subjectOf,
  type MutationOutcome,
  type Change,
} from './model/change.ts';
import {
  type Reason,
  type TagChange,
  inconsistentAnswers,
  isUnreported,
  newReason,
  pollOf,
} from './reasons/reasons.ts';
import {
  isRetryOfFailedProfile,
  withAttempt,
  withProfileFailure,
  mutationKey,
  refusedSince,
  withRefusal,
  waitedFor,
  withRecorded,
} from './retry-state.ts';
import { withRefusedRequests } from './record-after-read.ts';
import { recordAfter } from './record-around-changes.ts';
import { describeTransit } from './model/profile-status.ts';

export interface ExecuteServices {
  readonly guards: readonly Guard[];
  readonly clusterQueues: ClusterQueues;
  readonly claims: Claims;
  readonly clock: Clock;
}

/**
 * Makes the planned changes in AWS. Even if this function throws, `execution.steps` lists every change that was sent.
 */
export async function execute(reconcile: ReconcileState, services: ExecuteServices): Promise<void> {
  const { plan, execution } = reconcile;
  const end = await makeChanges(plan.changes, reconcile, services);
  execution.end = end ?? plan.end;
  if (end !== undefined) return;
  const left = await makeChanges(plan.leftovers, reconcile, services);
  if (left === undefined) return;
  if (isUnreported(left)) execution.end = left;
  else execution.notices.push(left);
}

/** Returns why the execution ends early, or `undefined`. A refused optional change does not end it. */
async function makeChanges(
  changes: readonly Change[],
  reconcile: ReconcileState,
  services: ExecuteServices,
): Promise<Reason | undefined> {
  const { execution } = reconcile;
  for (const change of changes) {
    if (execution.kept.some(({ name }) => isAboutKept(change.mutation, name))) continue;
    if (change.ifAllMade === true && (execution.notices.length > 0 || execution.keepsTags === true)) continue;
    const end = await makeChange(change, reconcile, services);
    if (end !== undefined) return end;
  }
  return undefined;
}

const isAboutKept = (mutation: Mutation, name: string): boolean => isRoleRemoval(mutation) && mutation.name === name;

/** Returns why the execution ends with this change, or `undefined` if it continues. */
async function makeChange(
  change: Change,
  reconcile: ReconcileState,
  services: ExecuteServices,
): Promise<Reason | undefined> {
  const { mutation } = change;
  const { claims, clock, clusterQueues } = services;
  const before = reconcile.record;
  try {
    recordProfileFailure(reconcile, mutation, clock);
    // The claim comes first, so that no reconcile begins to use a role after the guards have found it unused.
    if (!claims.tryClaim(mutation, reconcile))
      return newReason('NotNow', { because: 'another object uses or changes the same resource' });
    const obstacle = await findObstacle(services.guards, mutation, reconcile);
    if (obstacle?.kind === 'keep') return keep(reconcile, mutation, obstacle.by);
    if (obstacle?.kind === 'untagOnly') return await untagOnly(change, obstacle.keys, reconcile, services);
    if (obstacle !== undefined) return tolerate(change, obstacle.reason, reconcile);
    const outcome = await mutate(reconcile.session, reconcile.target.eksCluster, mutation);
    const { drained } = reconcile;
    reconcile.execution.steps.push({
      mutation,
      outcome,
      ...(mutation.kind === 'deleteProfile' && drained && { drained }),
    });
    const ahead = reconcile.record;
    reconcile.record = recordAfter(ahead, before, mutation, outcome);
    reconcile.retry.update((state) => ({
      ...withRecorded(state, reconcile.record),
      unanswered: withRefusedRequests(state.unanswered ?? {}, ahead, reconcile.record),
    }));
    const reason = reasonFor(reconcile, mutation, outcome, clock);
    if (isQueuedMutation(mutation)) updateClusterQueue(clusterQueues, reconcile, mutation, outcome, reason);
    return reason && tolerate(change, reason, reconcile);
  } finally {
    clusterQueues.release(reconcile.queueKey, reconcile.object);
  }
}

/** Reports a refused optional change as a notice, and lets the execution continue. Otherwise returns the reason. */
function tolerate({ mutation, optional }: Change, reason: Reason, { execution }: ReconcileState): Reason | undefined {
  // After other errors, a retry may succeed, so the execution ends instead of continuing without this change.
  const isRefusal = reason.name === 'AccessDenied' || reason.name === 'Refused' || reason.name === 'AWSQuotaExceeded';
  if (optional !== true || isUnreported(reason) || !(isRefusal || mutation.kind === 'setBoundary')) return reason;
  // A refused change of an access entry is reported only in an event, because the permission for it is optional.
  if (!isAccessEntryMutation(mutation)) execution.notices.push(reason);
  return undefined;
}

/** A role that the spec needs with another path stays in the record, because this object still has to delete it. */
function keep(reconcile: ReconcileState, mutation: Mutation, by: string): Reason | undefined {
  if (!isRoleRemoval(mutation)) return undefined;
  const { name } = mutation;
  const { role, isSpecFixed } = reconcile.desired;
  if (!isSameRoleName(role?.name, name)) {
    reconcile.execution.kept.push({ name, usedBy: by });
    return undefined;
  }
  const path = findRole(reconcile.observed.roles, name)?.path;
  return newReason('RoleSettingsConflict', { name, other: by, path, settings: ['rolePath'], isSpecFixed });
}

async function untagOnly(
  change: Change,
  keys: readonly string[],
  reconcile: ReconcileState,
  services: ExecuteServices,
): Promise<Reason | undefined> {
  reconcile.execution.keepsTags = true;
  return keys.length === 0 || change.mutation.kind !== 'untagRole'
    ? undefined
    : makeChange({ ...change, mutation: { ...change.mutation, keys } }, reconcile, services);
}

function recordProfileFailure(reconcile: ReconcileState, mutation: Mutation, clock: Clock): void {
  if (!isRetryOfFailedProfile(mutation, reconcile.observed)) return;
  reconcile.retry.update((state) => withProfileFailure(state, generationOf(reconcile), clock.monotonic()));
}

function updateClusterQueue(
  clusterQueues: ClusterQueues,
  { queueKey, object }: ReconcileState,
  mutation: Mutation,
  outcome: MutationOutcome,
  reason: Reason | undefined,
): void {
  if (outcome.kind === 'done') clusterQueues.saw(queueKey, subjectOf(mutation), describeQueued(mutation), object);
  else if (outcome.kind === 'siblingBusy')
    clusterQueues.saw(queueKey, outcome.by, describeTransit(outcome.doing) ?? outcome.doing);
  else if (reason?.name === 'ClusterUpdating') clusterQueues.close(queueKey, reason.facts.remaining, reason.facts.said);
}

/** Returns why AWS has not made the change, or `undefined` if it has. */
function reasonFor(
  reconcile: ReconcileState,
  mutation: Mutation,
  outcome: MutationOutcome,
  clock: Clock,
): Reason | undefined {
  const now = clock.monotonic();
  switch (outcome.kind) {
    case 'done':
    case 'gone':
      if (isRetryOfFailedProfile(mutation, reconcile.observed))
        reconcile.retry.update((state) => withAttempt(state, generationOf(reconcile)));
      return undefined;
    case 'clusterGone':
      return newReason('ReadAgain', { because: 'EKS has no such cluster any more' });
    case 'nameTaken':
    case 'notVisible':
      return contradictionReason(reconcile, resourceOf(mutation), undefined, now);
    case 'outdated':
      return contradictionReason(reconcile, resourceOf(mutation), aws.describeFailure(outcome.failure), now);
    case 'siblingBusy': {
      const doing = describeTransit(outcome.doing) ?? outcome.doing;
      return newReason('WaitingForSibling', { ahead: outcome.by, doing, isUnverified: true });
    }
    case 'clusterUpdating':
      return newReason('ClusterUpdating', {
        cluster: reconcile.target.eksCluster,
        said: aws.describeFailure(outcome.failure),
        remaining: updatePauseAfter(waitedFor(reconcile.retry.state, { name: 'ClusterUpdating' }, now)),
      });
    case 'roleRejected':
      return trustReason(reconcile, outcome.failure.message, now);
    case 'failed':
      return failureReason(reconcile, mutation, outcome.failure, now);
  }
}

/**
 * Returns the reason to report when AWS contradicts itself about a resource. Users read `detail` only if the
 * contradiction lasts. Once the contradiction is reported as an error, it remains one.
 */
function contradictionReason({ retry }: ReconcileState, resource: string, detail: string | undefined, now: Ms): Reason {
  const { state } = retry;
  const propagating = inconsistentAnswers(resource);
  return state.waiting?.isContradiction !== true && waitedFor(state, propagating, now) < VISIBILITY_PATIENCE
    ? propagating
    : newReason('AWSError', { contradictory: resource, ...(detail !== undefined && { detail }) });
}

/**
 * EKS sends the same error for a wrong trust policy and for a trust policy that IAM has not propagated yet. So the
 * reason calls the trust policy wrong only if the rejection lasts.
 */
function trustReason(reconcile: ReconcileState, said: string, now: Ms): Reason {
  const { retry, desired, observed } = reconcile;
  const { role } = desired;
  const generation = generationOf(reconcile);
  const known = retry.state.trustRejected;
  const trustRejected = known?.generation === generation ? known : { generation, since: now };
  retry.update((state) => ({ ...state, trustRejected }));
  if (now - trustRejected.since < TRUST_PATIENCE) {
    const detail = `EKS does not accept pod execution role "${role?.name}" yet, which is usual for up to two minutes after a change in IAM`;
    return newReason('Propagating', { detail, said });
  }
  const found = role && findRole(observed.roles, role.name);
  return newReason('RoleTrustInvalid', { name: role?.name ?? '', said, ours: isManagedHere(desired, found) });
}

/** Returns why the change failed. Remembers the failure, so that no reconcile repeats the change during its backoff. */
function failureReason(reconcile: ReconcileState, mutation: Mutation, failure: aws.AwsFailure, now: Ms): Reason {
  const reason = reasonForRefusedEntry(reconcile, mutation, failure) ?? reasonForChange(reconcile, mutation, failure);
  if (isUnreported(reason)) return reason;
  reconcile.retry.update((state) => {
    const since = refusedSince(state, reason, now);
    const notBefore = now + pollOf(reason, now - since);
    const key = mutationKey(mutation, reconcile.target.identity);
    return withRefusal(state, { mutation: key, reason, generation: generationOf(reconcile), since, notBefore }, now);
  });
  return reason;
}

/** Returns a reason if AWS has refused to replace or create the access entry of a live profile's role. */
function reasonForRefusedEntry(
  { desired, observed }: ReconcileState,
  mutation: Mutation,
  failure: aws.AwsFailure,
): Reason | undefined {
  if (!isAccessEntryMutation(mutation) || !aws.isRefused(failure)) return undefined;
  if (mutation.kind === 'deleteAccessEntry' && mutation.because !== 'roleRecreated') return undefined;
  const role = findRole(observed.roles, mutation.name);
  const entry = mutation.kind === 'createAccessEntry' ? 'missing' : 'outdated';
  return role && roleRecreated(desired, role, entry, aws.describeFailure(failure));
}

function reasonForChange(
  { target, session, abandonment, desired }: ReconcileState,
  mutation: Mutation,
  failure: aws.AwsFailure,
): Reason {
  const { isSpecFixed, profile, role } = desired;
  const denial = aws.readDenial(failure.message);
  const general = isSubnetChoiceDenied(mutation, failure, denial)
    ? newReason('SubnetChoiceDenied', { detail: aws.describeFailure(failure), denial })
    : reasonForFailure(failure, {
        target,
        session,
        abandonment,
        subnets: profile?.subnetSource,
        isProfileGone: isRoleRemoval(mutation),
        isBoundaryFromLimits: role?.kind === 'managed' && role.isBoundaryFromLimits,
        isSpecFixed,
        resource: isCreation(mutation) ? undefined : resourceOf(mutation),
        violation: mutation.kind === 'createProfile' ? findSelectorProblem(mutation.profile.selectors) : undefined,
      });
  const tags = tagChangeIn(mutation);
  return tags !== undefined && general.name === 'AccessDenied'
    ? newReason('AccessDenied', { ...general.facts, tags })
    : general;
}

/** Returns the changed tags. Omits the bookkeeping tags (`isAddedTagKey`), unless only bookkeeping tags change. */
function tagChangeIn(mutation: Mutation): TagChange | undefined {
  if (!('tags' in mutation || 'keys' in mutation)) return undefined;
  const all = 'tags' in mutation ? Object.keys(mutation.tags) : mutation.keys;
  const ofUser = all.filter((key) => !isAddedTagKey(key));
  const keys = ofUser.length > 0 ? ofUser : all;
  return { change: 'tags' in mutation ? 'set' : 'remove', keys, resource: resourceOf(mutation) };
}

/** EKS uses the caller's EC2 permissions to choose the subnets of a new profile. */
const isSubnetChoiceDenied = (mutation: Mutation, failure: aws.AwsFailure, { action = '' }: aws.Denial): boolean =>
  mutation.kind === 'createProfile' &&
  mutation.profile.subnets.length === 0 &&
  aws.isAccessDenied(failure) &&
  action.startsWith('ec2:');

const generationOf = ({ object }: ReconcileState): number => object.metadata.generation ?? 0;
