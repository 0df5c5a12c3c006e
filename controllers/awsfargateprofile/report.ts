import type { AWSFargateProfile, AWSFargateProfileStatus, StatusRole } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { formatTimestamp } from '../../pkg/env/timestamp.ts';
import { roleOwner } from '../../pkg/fargate/ownership.ts';
import { isDeleting } from '../standing.ts';
import type { Stated } from './conditions.ts';
import { conditionOf, mergeConditions } from './conditions.ts';
import { isMadeAnew, ownerOf, profileNamed, roleNamed } from './comparison.ts';
import type { Desired } from './model.ts';
import { isWithoutEffect } from './model.ts';
import type { End, Pass, Seen } from './pass.ts';
import { tagKeysOf } from './record.ts';
import { statedBy } from './stated.ts';

/** The status that the object is to have; equal to the one it has where nothing changed. */
export function statusOf(pass: Pass): AWSFargateProfileStatus {
  const { object, desired, observed } = pass;
  const { failureReason: _reason, failureMessage: _message, ...before } = object.status ?? {};
  // What AWS says now takes the place of what it said before, also where it says nothing any more.
  const found = desired && observed ? observedStatus(pass, before, desired, observed) : before;
  const conditions = mergeConditions(before.conditions ?? [], statedBy(pass), formatTimestamp(pass.now));
  const ready = conditionOf(conditions, 'Ready')?.status === 'True';
  const status: AWSFargateProfileStatus = {
    ...found,
    observedGeneration: object.metadata.generation ?? 0,
    ready,
    ...(isProvisioned(pass) && { initialization: { ...before.initialization, provisioned: true } }),
    conditions,
  };
  if (!isCreateRefused(pass)) return status;
  const { createRequestedAt: _withdrawn, ...rest } = status;
  return rest;
}

/** EKS took no create, nor may an earlier one still appear: nothing is left to be waited for by a deletion. */
function isCreateRefused({ desired, trail }: Pass): boolean {
  const create = trail.findLast(({ mutation }) => mutation.kind === 'createProfile');
  return desired?.records.createUnseen === false && create !== undefined && isWithoutEffect(create.outcome);
}

/**
 * The status of a paused object: all as it was, but that it is paused, and that a deletion waits for that. `by` in the
 * words of Cluster API.
 */
export function pausedStatus(object: AWSFargateProfile, by: readonly string[], now: Ms): AWSFargateProfileStatus {
  const before = object.status ?? {};
  const paused: Stated = {
    type: 'Paused',
    status: 'True',
    observedGeneration: object.metadata.generation ?? 0,
    reason: 'Paused',
    message: by.join(', '),
  };
  const deleting: Stated = {
    type: 'Deleting',
    status: 'True',
    observedGeneration: object.metadata.generation ?? 0,
    reason: 'Paused',
    message: `The deletion waits: ${paused.message}`,
  };
  const stated = isDeleting(object) ? [paused, deleting] : [paused];
  return { ...before, conditions: mergeConditions(before.conditions ?? [], stated, formatTimestamp(now)) };
}

/** ACTIVE, and AWS equal to this generation of the spec: from now on what EKS cannot change is immutable. */
const isProvisioned = ({ object, end }: Pass): boolean => end.kind === 'settled' && !isDeleting(object);

/** What AWS says now of what is ours. A field is dropped where AWS has nothing to say. */
function observedStatus(
  { end }: Pass,
  {
    profileARN,
    profileStatus: _status,
    podExecutionRoleARN: _role,
    health: _health,
    ...before
  }: AWSFargateProfileStatus,
  desired: Desired,
  observed: Seen,
): AWSFargateProfileStatus {
  const { wanted, records, owner, place } = desired;
  const found = profileNamed(observed.profiles, wanted?.profile.name ?? records.profileName ?? owner.profileName);
  const profile = found && ownerOf(desired, found).kind === 'ours' ? found : undefined;
  // A create that came to a profile which is gone again has nothing more to show: its record ends with it. So does one of
  // which nothing can come, since the name is somebody else's by now.
  const { createRequestedAt, ...withoutRequest } = before;
  const isOver = profile === undefined && (profileARN !== undefined || found !== undefined);
  const request = isOver || createRequestedAt === undefined ? {} : { createRequestedAt };
  // What a provisioned profile was given is what its spec means, whatever stands under its name now.
  const isOther = end.kind === 'stopped' && end.why.reason === 'SpecDiffers';
  const keepsSubnets = isOther || (before.initialization?.provisioned === true && (before.subnets ?? []).length > 0);
  const role = roleStatus(before.role, end, desired, observed);
  return {
    ...withoutRequest,
    ...request,
    // Where EKS knows no such cluster the object may have been sought in the wrong account or region: it is not tied to them.
    ...(observed.cluster === 'there' && {
      account: place.account,
      region: place.region,
      eksClusterName: owner.eksCluster,
    }),
    ...(profile && {
      profileARN: profile.arn,
      profileStatus: profile.status,
      podExecutionRoleARN: profile.podExecutionRoleArn,
      ...(!keepsSubnets && { subnets: profile.subnets }),
    }),
    ...(profile && profile.health.length > 0 && { health: { issues: profile.health } }),
    // A key that was given up is off by now, and anybody's.
    ...(wanted && end.kind === 'settled' && { profileName: wanted.profile.name, tagKeys: tagKeysOf(wanted) }),
    ...(role && { role }),
  };
}

/**
 * What is to be recorded of the role. As long as one that was made here earlier is still there, the record is of that: it
 * is the only one who knows that it has to go.
 */
function roleStatus(
  before: StatusRole | undefined,
  end: End,
  desired: Desired,
  { roles }: Seen,
): StatusRole | undefined {
  const { wanted, records, owner } = desired;
  const name = wanted?.role.name ?? records.roleName;
  const role = roles === undefined || name === undefined ? undefined : roleNamed(roles, name);
  if (roles === undefined || role === undefined) return before;
  const isNamed = wanted?.role.kind !== 'existing' || role.arn === wanted.role.arn;
  const isFormerLeft =
    records.roleManaged !== false &&
    records.roleName !== undefined &&
    records.roleName.toLowerCase() !== role.name.toLowerCase() &&
    roleNamed(roles, records.roleName) !== undefined;
  if (!isNamed || (isFormerLeft && end.kind !== 'settled')) return before;
  const managed = wanted?.role.kind !== 'existing' && roleOwner(role, owner).kind === 'ours';
  const isRecorded = records.roleName?.toLowerCase() === role.name.toLowerCase();
  return {
    ...before,
    name: role.name,
    // The id that the access entry is bound to, until somebody has seen to that.
    id: (end.kind === 'stopped' && isMadeAnew(desired, role) ? before?.id : undefined) ?? role.id,
    managed,
    ...(managed &&
      wanted?.role.kind === 'managed' && {
        // One that is not wanted any more stays on record until it is off: nothing else tells that it is ours to take off.
        attachedPolicies: [
          ...new Set([...wanted.role.policies, ...(isRecorded ? records.attachedPolicies : [])]),
        ].filter((arn) => role.attached.includes(arn)),
      }),
  };
}
