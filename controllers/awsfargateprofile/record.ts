import type { AWSFargateProfile, AWSFargateProfileStatus, StatusRole } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { formatTimestamp } from '../../pkg/env/timestamp.ts';
import { isDeleting } from '../standing.ts';
import { conditionOf, mergeConditions } from './conditions.ts';
import { profileNamed } from './comparison.ts';
import type { Desired, Mutation, Observed, Target } from './model.ts';
import type { Why } from './reasons.ts';
import { why } from './reasons.ts';
import { statedBy } from './stated.ts';

/**
 * The status that must stand before a change may be made in AWS, so that whoever comes after a crash finds what was
 * begun: where it is, under which names, with which tags.
 */
export function recordBefore(
  object: AWSFargateProfile,
  target: Target,
  desired: Desired,
  mutation: Mutation,
  now: Ms,
): AWSFargateProfileStatus {
  const { wanted, place } = desired;
  const { identityRef: _formerIdentity, ...before } = object.status ?? {};
  const record: AWSFargateProfileStatus = {
    ...before,
    region: place.region,
    account: place.account,
    eksClusterName: target.eksCluster,
    ...(target.identity && { identityRef: target.identity }),
    ...(wanted && { tagKeys: recordedTagKeys(before, desired, mutation) }),
  };
  switch (mutation.kind) {
    case 'createRole':
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
 * The record of an object that says Ready says otherwise before its profile is deleted, and before one that has vanished is
 * made anew: its Ready would stand for as long as AWS takes to answer; and after a crash, where an object at rest is not
 * looked at, for longer.
 */
export function readyOnlyIfActive(
  record: AWSFargateProfileStatus,
  object: AWSFargateProfile,
  { desired, observed, mutation }: { desired: Desired; observed: Observed; mutation: Mutation },
  now: Ms,
): AWSFargateProfileStatus {
  if (conditionOf(record.conditions, 'Ready')?.status !== 'True') return record;
  const reason = endOfReady(object, desired, observed, mutation);
  if (reason === undefined) return record;
  const end = { kind: 'stopped', why: reason } as const;
  const stated = statedBy({ object, end, desired, observed, trail: [], now, waited: 0, attempts: 0 });
  return {
    ...record,
    observedGeneration: object.metadata.generation ?? 0,
    ready: false,
    conditions: mergeConditions(record.conditions ?? [], stated, formatTimestamp(now)),
  };
}

/** Why the object is Ready no more; `undefined`: it is. */
function endOfReady(
  object: AWSFargateProfile,
  { wanted }: Desired,
  { profiles }: Observed,
  mutation: Mutation,
): Why | undefined {
  if (mutation.kind === 'deleteProfile') return why('DeletingProfile', { name: mutation.name });
  if (wanted === undefined || isDeleting(object)) return undefined;
  const { name } = wanted.profile;
  return profileNamed(profiles, name)?.status === 'ACTIVE' ? undefined : why('Creating', { name });
}

/** Of a profile of another name the earlier record says nothing. */
function withProfile(record: AWSFargateProfileStatus, { wanted }: Desired): AWSFargateProfileStatus {
  if (wanted === undefined || record.profileName === wanted.profile.name) return record;
  const { createRequestedAt: _at, profileARN: _arn, profileStatus: _status, health: _health, ...rest } = record;
  return { ...rest, profileName: wanted.profile.name };
}

/** Whose the role is, and what is attached to it, is written down once it was seen. */
function withRole(record: AWSFargateProfileStatus, { wanted }: Desired): AWSFargateProfileStatus {
  if (wanted?.role.kind !== 'managed') return record;
  const { name } = wanted.role;
  // Of another role, or of somebody else's that had the name, the earlier record says nothing.
  const isOfThis = record.role?.name === name && record.role.managed !== false;
  return isOfThis ? record : { ...record, role: { name } };
}

function withPolicies(record: AWSFargateProfileStatus, { wanted }: Desired): AWSFargateProfileStatus {
  if (wanted?.role.kind !== 'managed') return record;
  const attachedPolicies = [...new Set([...(record.role?.attachedPolicies ?? []), ...wanted.role.policies])];
  return { ...record, role: { ...record.role, attachedPolicies } };
}

/** What was known of an earlier profile of the name says nothing about the one that is asked for now. */
function withCreateRequest(record: AWSFargateProfileStatus, now: Ms): AWSFargateProfileStatus {
  const { profileARN: _arn, profileStatus: _status, health: _health, role, ...others } = record;
  const rest = { ...others, ...(role && { role: withoutId(role) }) };
  return { ...rest, createRequestedAt: formatTimestamp(now) };
}

/** EKS makes the access entry of a new profile for the role as it is then. */
function withoutId({ id: _id, ...role }: StatusRole): StatusRole {
  return role;
}

/** Keys once set are remembered until they are taken off again: only what stands here is ever removed. */
function recordedTagKeys(before: AWSFargateProfileStatus, { wanted }: Desired, mutation: Mutation): readonly string[] {
  const keys = wanted !== undefined && SETTING_TAGS.includes(mutation.kind) ? tagKeysOf(wanted) : [];
  return [...new Set([...(before.tagKeys ?? []), ...keys])].toSorted();
}

const SETTING_TAGS: readonly Mutation['kind'][] = ['createProfile', 'createRole', 'tagProfile', 'tagRole'];

/** The keys of all tags that this controller sets for the object. */
export function tagKeysOf({ profile, role }: NonNullable<Desired['wanted']>): readonly string[] {
  const roleTags = role.kind === 'managed' ? role.tags : {};
  return [...new Set([...Object.keys(profile.tags), ...Object.keys(roleTags)])].toSorted();
}
