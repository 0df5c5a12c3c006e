import type { AWSFargateProfile, AWSFargateProfileStatus, StatusRole } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { formatTimestamp } from '../../../pkg/env/timestamp.ts';
import { isSameRoleName } from '../../../pkg/fargate/names.ts';
import { isDeleting } from '../../shared/object-state.ts';
import { conditionOf, mergeConditions } from './conditions/condition-list.ts';
import { findProfile } from '../decide/compare.ts';
import { plan } from '../decide/plan.ts';
import { creatingReason } from '../decide/replacement.ts';
import type { Desired } from '../model/desired-state.ts';
import { type Mutation, subjectOf } from '../model/mutation.ts';
import type { Observed } from '../model/observed-state.ts';
import type { Target } from '../model/goal-kinds.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { replacementAhead } from './replacement.ts';
import { conditionsAfter } from './conditions/conditions.ts';

/**
 * Returns the status that must be written before a change in AWS. It has the AWS account, region and EKS cluster, and
 * the names and tag keys of the AWS resources. If the manager crashes right after the change, the next process finds
 * the changed AWS resource by this status.
 */
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
      // The policies of a new IAM role are recorded together with its name, because the controller attaches them right
      // after the creation.
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
      return withCreateRequest(withRole(withProfile(record, desired), desired), now);
    case 'tagProfile':
      return withProfile(record, desired);
    default:
      return record;
  }
}

/**
 * Sets `Ready` to False before a change in AWS that ends or interrupts the work of the Fargate profile:
 *
 * - the deletion of the profile;
 * - any change while the profile is not ACTIVE, for example the creation of a profile that has disappeared;
 * - a change that restores the role of an ACTIVE profile.
 *
 * Otherwise `Ready` would be wrong until AWS answers, and after a crash until the next resync.
 */
export function withReadyOnlyIfActive(
  record: AWSFargateProfileStatus,
  object: AWSFargateProfile,
  { desired, observed, mutation }: { desired: Desired; observed: Observed; mutation: Mutation },
  now: Ms,
): AWSFargateProfileStatus {
  if (conditionOf(record.conditions, 'Ready')?.status !== 'True') return record;
  const reason = endOfReady(object, desired, observed, mutation);
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

/** Returns the reason for which the object is not Ready after this change in AWS; `undefined` if it stays Ready. */
function endOfReady(
  object: AWSFargateProfile,
  desired: Desired,
  observed: Observed,
  mutation: Mutation,
): Reason | undefined {
  if (mutation.kind === 'deleteProfile')
    return mutation.because === 'replaced' ? undefined : newReason('DeletingProfile', { name: mutation.name });
  const { wanted, identity } = desired;
  if (wanted === undefined || isDeleting(object)) return undefined;
  const { name } = wanted.profile;
  if (findProfile(observed.profiles, name)?.status !== 'ACTIVE') return creatingReason(desired, observed, name);
  return RESTORING_ROLE.includes(mutation.kind) && subjectOf(mutation) === wanted.role.name
    ? newReason('RestoringRole', { name: wanted.role.name, cluster: identity.eksCluster })
    : undefined;
}

/**
 * The changes that restore a deleted IAM role of an ACTIVE profile, or its access entry. Until they are complete, new
 * pods cannot start on the profile.
 */
const RESTORING_ROLE: readonly Mutation['kind'][] = ['createRole', 'deleteAccessEntry', 'createAccessEntry'];

/**
 * Returns the status with the name of the wanted Fargate profile. The record of a profile with another name is removed,
 * unless that profile is being replaced.
 */
function withProfile(record: AWSFargateProfileStatus, { wanted }: Desired): AWSFargateProfileStatus {
  if (wanted === undefined || record.profileName === wanted.profile.name || record.successor !== undefined)
    return record;
  const { createRequestedAt: _at, profileARN: _arn, profileStatus: _status, health: _health, ...rest } = record;
  return { ...rest, profileName: wanted.profile.name };
}

/**
 * Returns the status with the name of the wanted IAM role, if the controller manages this role. The record of a role
 * with another name or another owner is dropped. If a role of this name belonged to another owner, its id stays,
 * because the access entry of a live profile is bound to this id.
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

/**
 * Returns the status with a record of the create request for the Fargate profile. The record of an earlier profile with
 * the same name is removed.
 */
function withCreateRequest(record: AWSFargateProfileStatus, now: Ms): AWSFargateProfileStatus {
  const { profileARN: _arn, profileStatus: _status, health: _health, ...withoutProfile } = record;
  const { role, ...others } = record.successor === undefined ? withoutProfile : record;
  return { ...others, ...(role && { role: withoutId(role) }), createRequestedAt: formatTimestamp(now) };
}

/**
 * Returns the record of the IAM role without the unique ids in `id` and `accessEntryCheckedFor`. EKS binds the access
 * entry of a new profile to the id that the role has at the creation of the profile, so recorded ids of an earlier role
 * are outdated.
 */
function withoutId({ id: _id, accessEntryCheckedFor: _checked, ...role }: StatusRole): StatusRole {
  return role;
}

/**
 * Returns the tag keys to record: those already recorded and, if this change sets tags, those of all wanted tags. The
 * controller removes only tags with recorded keys from AWS.
 */
function recordedTagKeys(before: AWSFargateProfileStatus, { wanted }: Desired, mutation: Mutation): readonly string[] {
  return withTagKeysOf(SETTING_TAGS.includes(mutation.kind) ? wanted : undefined, before.tagKeys);
}

/**
 * The maximum number of tag keys or policies that status records. AWS allows a resource 50 tags and 20 policies. Each
 * change that AWS refuses may add as many to the record, which must not grow until the API server refuses the object.
 */
const MAX_RECORDED = 500;

/** Returns the values recorded before and the wanted values. If they are too many, some recorded before are left out. */
function recordOf(wanted: readonly string[], before: readonly string[] = []): readonly string[] {
  const all = new Set([...before, ...wanted]);
  return all.size <= MAX_RECORDED ? [...all] : [...new Set([...wanted, ...all])].slice(0, MAX_RECORDED);
}

export const withTagKeysOf = (wanted: Desired['wanted'], before: readonly string[] = []): readonly string[] =>
  recordOf(wanted === undefined ? [] : tagKeysOf(wanted), before).toSorted();

const SETTING_TAGS: readonly Mutation['kind'][] = ['createProfile', 'createRole', 'tagProfile', 'tagRole'];

/** Returns the keys of all tags that this controller sets on the Fargate profile and the IAM role. */
export function tagKeysOf({ profile, role }: NonNullable<Desired['wanted']>): readonly string[] {
  const roleTags = role.kind === 'managed' ? role.tags : {};
  return [...new Set([...Object.keys(profile.tags), ...Object.keys(roleTags)])].toSorted();
}
