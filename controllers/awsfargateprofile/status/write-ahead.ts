import type { AWSFargateProfile, AWSFargateProfileStatus, StatusRole } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { roleOwnership } from '../../../pkg/fargate/ownership.ts';
import { conditionOf, mergeConditions } from './conditions/condition-list.ts';
import { findProfile, findRole } from '../decide/compare.ts';
import { plan } from '../decide/plan.ts';
import { creatingReason } from '../decide/replacement.ts';
import type { Desired } from '../model/desired-state.ts';
import { type Mutation, subjectOf } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import type { Target } from '../model/goal-kinds.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { replacementAhead } from './replacement.ts';
import { conditionsAfter } from './conditions/conditions.ts';

/** If the manager crashes right after the change, the next process finds the changed AWS resource by this status. */
export function writeAheadStatus(
  object: AWSFargateProfile,
  target: Target,
  { desired, observed }: { readonly desired: Desired; readonly observed: Observed },
  mutation: Mutation,
  now: Ms,
): AWSFargateProfileStatus {
  const { wanted, place } = desired;
  const {
    identityRef: _formerIdentity,
    successor: _successor,
    predecessors: _predecessors,
    ...before
  } = object.status ?? {};
  const record: AWSFargateProfileStatus = {
    ...before,
    region: place.region,
    account: place.account,
    eksClusterName: target.eksCluster,
    ...(target.identity && { identityRef: target.identity }),
    ...(wanted && { tagKeys: recordedTagKeys(before, desired, mutation) }),
    ...replacementAhead(desired, observed),
  };
  switch (mutation.kind) {
    case 'createRole':
      // The policies are attached right after the creation, so they are recorded with it.
      return withPolicies(
        withBoundary(withRole(withProfile(record, desired), desired), mutation.role.permissionsBoundary),
        desired,
      );
    case 'setBoundary':
      return withBoundary(withRole(withProfile(record, desired), desired), mutation.policyArn);
    case 'tagRole':
      return withRole(withProfile(record, desired), desired);
    case 'attachPolicy':
      return withPolicies(withRole(withProfile(record, desired), desired), desired);
    case 'createProfile':
      return withCreateRequest(withRole(withProfile(record, desired), desired), { desired, observed }, now);
    case 'tagProfile':
      return withProfile(record, desired);
    default:
      return record;
  }
}

/**
 * Sets `Ready` to False before a change that ends or interrupts the work of the profile. Otherwise `Ready` would be
 * wrong until AWS answers, and after a crash until the next resync.
 */
export function withReadyOnlyIfActive(
  record: AWSFargateProfileStatus,
  object: AWSFargateProfile,
  { desired, observed, mutation }: { desired: Desired; observed: Observed; mutation: Mutation },
  now: Ms,
): AWSFargateProfileStatus {
  if (conditionOf(record.conditions, 'Ready')?.status !== 'True') return record;
  const reason = endOfReady(desired, observed, mutation);
  if (reason === undefined) return record;
  const facts = { desired, observed, plan: plan(desired, observed) };
  const updates = conditionsAfter({ object, end: reason, facts, now, waited: 0, attempts: 0 });
  return {
    ...record,
    observedGeneration: object.metadata.generation ?? 0,
    ready: false,
    conditions: mergeConditions(record.conditions ?? [], updates, formatTimestamp(now)),
  };
}

function endOfReady(desired: Desired, observed: Observed, mutation: Mutation): Reason | undefined {
  if (mutation.kind === 'deleteProfile')
    return mutation.because === 'replaced' ? undefined : newReason('DeletingProfile', { name: mutation.name });
  const { wanted, identity } = desired;
  if (wanted === undefined) return undefined;
  const { name } = wanted.profile;
  if (findProfile(observed.profiles, name)?.status !== 'ACTIVE') return creatingReason(desired, observed, name);
  return RESTORING_ROLE.includes(mutation.kind) && subjectOf(mutation) === wanted.role.name
    ? newReason('RestoringRole', { name: wanted.role.name, cluster: identity.eksCluster })
    : undefined;
}

/** Until these changes are complete, new pods cannot start on an ACTIVE profile. */
const RESTORING_ROLE: readonly Mutation['kind'][] = ['createRole', 'deleteAccessEntry', 'createAccessEntry'];

/** The record of a profile with another name goes, unless that profile is being replaced. */
function withProfile(record: AWSFargateProfileStatus, { wanted }: Desired): AWSFargateProfileStatus {
  if (wanted === undefined || record.profileName === wanted.profile.name || record.successor !== undefined)
    return record;
  const { createRequestedAt: _at, profileARN: _arn, profileStatus: _status, health: _health, ...rest } = record;
  return { ...rest, profileName: wanted.profile.name };
}

/**
 * If a role of this name belonged to another owner, its id stays, because the access entry of a live profile is bound
 * to it.
 */
function withRole(record: AWSFargateProfileStatus, { wanted }: Desired): AWSFargateProfileStatus {
  if (wanted?.role.kind !== 'managed') return record;
  const { name } = wanted.role;
  const before = isSameRoleName(record.role?.name, name) ? record.role : undefined;
  if (before !== undefined && before.managed !== false) return record;
  return { ...record, role: { name, ...(before?.id !== undefined && { id: before.id }) } };
}

function withPolicies(record: AWSFargateProfileStatus, { wanted }: Desired): AWSFargateProfileStatus {
  if (wanted?.role.kind !== 'managed') return record;
  const attachedPolicies = recordOf(wanted.role.policies, record.role?.attachedPolicies);
  return { ...record, role: { ...record.role, attachedPolicies } };
}

const withBoundary = (record: AWSFargateProfileStatus, permissionsBoundary?: string): AWSFargateProfileStatus =>
  permissionsBoundary === undefined ? record : { ...record, role: { ...record.role, permissionsBoundary } };

function withCreateRequest(
  record: AWSFargateProfileStatus,
  facts: { readonly desired: Desired; readonly observed: Observed },
  now: Ms,
): AWSFargateProfileStatus {
  const { profileARN: _arn, profileStatus: _status, health: _health, ...withoutProfile } = record;
  const { role, ...others } = record.successor === undefined ? withoutProfile : record;
  return { ...others, ...(role && { role: withPresentId(role, facts) }), createRequestedAt: formatTimestamp(now) };
}

/**
 * EKS binds the access entry of a new profile to the id that the role has at its creation. By this id the role is also
 * known if somebody takes its tags off.
 */
function withPresentId(
  { id: _former, accessEntryCheckedFor: _checked, ...role }: StatusRole,
  { desired, observed }: { readonly desired: Desired; readonly observed: Observed },
): StatusRole {
  const found = role.name === undefined ? undefined : findRole(observed.roles, role.name);
  const isOurs = found !== undefined && roleOwnership(found, desired.identity).kind === 'ours';
  return isOurs ? { ...role, id: found.id, managed: true } : role;
}

/** Only tags with recorded keys are removed from AWS. */
function recordedTagKeys(before: AWSFargateProfileStatus, { wanted }: Desired, mutation: Mutation): readonly string[] {
  return withTagKeysOf(SETTING_TAGS.includes(mutation.kind) ? wanted : undefined, before.tagKeys);
}

/**
 * Tag keys or policies. AWS allows a resource 50 tags and 20 policies. Each refused change may add as many to the
 * record, which must not grow until the API server refuses the object.
 */
const MAX_RECORDED = 500;

/** Of too many values, some that were recorded before are left out. */
function recordOf(wanted: readonly string[], before: readonly string[] = []): readonly string[] {
  const all = new Set([...before, ...wanted]);
  return all.size <= MAX_RECORDED ? [...all] : [...new Set([...wanted, ...all])].slice(0, MAX_RECORDED);
}

export const withTagKeysOf = (wanted: Desired['wanted'], before: readonly string[] = []): readonly string[] =>
  recordOf(wanted === undefined ? [] : tagKeysOf(wanted), before).toSorted();

const SETTING_TAGS: readonly Mutation['kind'][] = ['createProfile', 'createRole', 'tagProfile', 'tagRole'];

export function tagKeysOf({ profile, role }: NonNullable<Desired['wanted']>): readonly string[] {
  const roleTags = role.kind === 'managed' ? role.tags : {};
  return [...new Set([...Object.keys(profile.tags), ...Object.keys(roleTags)])].toSorted();
}
