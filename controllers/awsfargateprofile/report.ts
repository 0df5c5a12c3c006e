import type { AWSFargateProfile, AWSFargateProfileStatus, Condition } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { formatTimestamp } from '../../pkg/env/timestamp.ts';
import { roleOwner } from '../../pkg/fargate/ownership.ts';
import type { ConditionType, Stated } from './conditions.ts';
import { conditionOf, mergeConditions } from './conditions.ts';
import { isMadeAnew, isRoleEstablished, profileNamed, roleNamed } from './decide.ts';
import type { Desired, Observed, Outcome, Step } from './model.ts';
import type { Nature, Part, Why } from './reasons.ts';
import { PATIENCE, messageOf, natureOf, partOf } from './reasons.ts';
import { isDeleting } from '../standing.ts';
import { tagKeysOf } from './record.ts';

/** How a pass ended. */
export type End = { readonly kind: 'settled' } | { readonly kind: 'stopped'; readonly why: Why };

export type Seen = Pick<Observed, 'cluster' | 'profiles'> & Partial<Pick<Observed, 'roles'>>;

/** One whole pass over an object, for those who tell of it. */
export interface Pass {
  /** As it stands after the pass's own writes. */
  readonly object: AWSFargateProfile;
  readonly end: End;
  /** Present once credentials were found good. */
  readonly desired?: Desired;
  /** As folded up to the end; without the roles where a profile in transit was all that was looked at. */
  readonly observed?: Seen;
  readonly trail: readonly Step[];
  /** Wall clock. */
  readonly now: Ms;
  /** How long the object has waited for the same thing. */
  readonly waited: Ms;
  /** How often in a row a failed profile was tried again. */
  readonly attempts: number;
}

/** For so long a profile that was Ready is believed to be so while AWS cannot be asked. */
const OUTAGE_BELIEVED: Ms = 15 * 60_000;

/** The status that the object is to have; equal to the one it has where nothing changed. */
export function statusOf(pass: Pass): AWSFargateProfileStatus {
  const { object } = pass;
  const { failureReason: _reason, failureMessage: _message, ...before } = object.status ?? {};
  const conditions = mergeConditions(before.conditions ?? [], statedBy(pass), formatTimestamp(pass.now));
  const ready = conditionOf(conditions, 'Ready')?.status === 'True';
  const status: AWSFargateProfileStatus = {
    ...before,
    ...(pass.desired && pass.observed && observedStatus(pass, pass.desired, pass.observed)),
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
  return desired?.records.createUnseen === false && create !== undefined && isRefusal(create.outcome);
}

/** Whether the answer says that nothing was done. An answer that never came, or a 500, does not. */
function isRefusal(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'siblingBusy':
    case 'clusterUpdating':
    case 'rolePropagating':
      return true;
    case 'failed': {
      const { statusCode = 0 } = outcome.failure;
      return statusCode >= 400 && statusCode < 500;
    }
    default:
      return false;
  }
}

/** The status of a paused object: all as it was, but that it is paused. `by` in the words of Cluster API. */
export function pausedStatus(object: AWSFargateProfile, by: readonly string[], now: Ms): AWSFargateProfileStatus {
  const before = object.status ?? {};
  const paused: Stated = {
    type: 'Paused',
    status: 'True',
    observedGeneration: object.metadata.generation ?? 0,
    reason: 'Paused',
    message: by.join(', '),
  };
  return { ...before, conditions: mergeConditions(before.conditions ?? [], [paused], formatTimestamp(now)) };
}

/** ACTIVE, and AWS equal to this generation of the spec: from now on what EKS cannot change is immutable. */
const isProvisioned = ({ object, end }: Pass): boolean => end.kind === 'settled' && !isDeleting(object);

/** What AWS says now. A field is dropped where AWS has nothing to say. */
function observedStatus({ object, end }: Pass, desired: Desired, observed: Seen): AWSFargateProfileStatus {
  const { wanted, records, owner, place } = desired;
  const profile = profileNamed(observed.profiles, wanted?.profile.name ?? records.profileName ?? owner.profileName);
  const roleName = wanted?.role.name ?? records.roleName;
  const role = roleName === undefined || observed.roles === undefined ? undefined : roleNamed(observed.roles, roleName);
  const managed = role !== undefined && wanted?.role.kind !== 'existing' && roleOwner(role, owner).kind === 'ours';
  const {
    profileARN: _arn,
    profileStatus: _status,
    podExecutionRoleARN: _role,
    health: _health,
    ...before
  } = object.status ?? {};
  return {
    ...before,
    account: place.account,
    region: place.region,
    eksClusterName: owner.eksCluster,
    ...(profile && {
      profileARN: profile.arn,
      profileStatus: profile.status,
      podExecutionRoleARN: profile.podExecutionRoleArn,
      subnets: profile.subnets,
    }),
    ...(profile && profile.health.length > 0 && { health: { issues: profile.health } }),
    // A key that was given up is off by now, and anybody's.
    ...(wanted && end.kind === 'settled' && { tagKeys: tagKeysOf(wanted) }),
    ...(role && {
      role: {
        ...before.role,
        name: role.name,
        // The id that the access entry is bound to, until somebody has seen to that.
        id: (end.kind === 'stopped' && isMadeAnew(desired, role) ? before.role?.id : undefined) ?? role.id,
        managed,
        ...(managed &&
          wanted?.role.kind === 'managed' && {
            attachedPolicies: wanted.role.policies.filter((arn) => role.attached.includes(arn)),
          }),
      },
    }),
  };
}

// ---- conditions

function statedBy(pass: Pass): readonly Stated[] {
  const { object, end } = pass;
  const observedGeneration = object.metadata.generation ?? 0;
  const state = (type: ConditionType, status: Condition['status'], reason: string, message = ''): Stated => ({
    type,
    status,
    observedGeneration,
    reason,
    message,
  });
  const deleting = isDeleting(object);
  const why = end.kind === 'stopped' ? end.why : undefined;
  const nature = why && shownNature(why, pass);
  const words = why === undefined ? '' : messageOf(why);
  const ready = readyOf(pass, why, nature);

  return [
    state('Ready', ready.status, ready.reason, ready.message),
    ...partsOf(pass, why).map(([type, part]) => state(type, part.status, part.reason, part.message)),
    nature === 'wait' || nature === 'retry' || (nature === 'outage' && ready.status !== 'True')
      ? state('Reconciling', 'True', why?.reason ?? 'Reconciling', words)
      : state('Reconciling', 'False', nature === 'human' ? 'Stalled' : 'Idle'),
    nature === 'human'
      ? state('Stalled', 'True', why?.reason ?? 'Stalled', words)
      : state('Stalled', 'False', 'NotStalled'),
    deleting ? state('Deleting', 'True', why?.reason ?? 'Deleting', words) : state('Deleting', 'False', 'NotDeleting'),
    state('Paused', 'False', 'NotPaused'),
  ];
}

/** What is retried for long without success needs somebody to look at it, though it goes on being retried. */
function shownNature(why: Why, { attempts }: Pass): Nature {
  const nature = natureOf(why);
  return nature === 'retry' && attempts >= PATIENCE ? 'human' : nature;
}

interface Standing {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

const good = (reason: string, message = ''): Standing => ({ status: 'True', reason, message });
const bad = (why: Why): Standing => ({ status: 'False', reason: why.reason, message: messageOf(why) });
const unknown = (reason: string, message = ''): Standing => ({ status: 'Unknown', reason, message });

function readyOf({ object, waited }: Pass, why: Why | undefined, nature: Nature | undefined): Standing {
  if (isDeleting(object)) {
    return { status: 'False', reason: 'Deleting', message: why === undefined ? '' : messageOf(why) };
  }
  if (why === undefined) return good('Ready', 'The Fargate profile is ACTIVE as the spec wants it');
  const before = conditionOf(object.status?.conditions, 'Ready');
  const wasReady = before?.status === 'True' && object.status?.observedGeneration === object.metadata.generation;
  if (nature !== 'outage') return bad(why);
  if (!wasReady) return before?.status === 'Unknown' ? unknown(why.reason, messageOf(why)) : bad(why);
  return waited < OUTAGE_BELIEVED
    ? { status: 'True', reason: before.reason ?? 'Ready', message: before.message ?? '' }
    : unknown(why.reason, messageOf(why));
}

function partsOf(pass: Pass, why: Why | undefined): readonly (readonly [Part, Standing])[] {
  return [
    ['CredentialsReady', credentialsStanding(pass, why)],
    ['EKSFargateProfileReady', profileStanding(pass, why)],
    ['IAMFargateRolesReady', roleStanding(pass, why)],
  ];
}

function credentialsStanding(pass: Pass, why: Why | undefined): Standing {
  if (why !== undefined && partOf(why) === 'CredentialsReady') return bad(why);
  return pass.desired === undefined ? asBefore(pass, 'CredentialsReady') : good('Authenticated');
}

function roleStanding(pass: Pass, why: Why | undefined): Standing {
  if (why !== undefined && partOf(why) === 'IAMFargateRolesReady') return bad(why);
  const { desired, observed } = pass;
  if (desired?.wanted === undefined && isDeleting(pass.object))
    return { status: 'False', reason: 'Deleting', message: '' };
  if (desired === undefined || observed?.roles === undefined) return asBefore(pass, 'IAMFargateRolesReady');
  if (isRoleEstablished(desired, { ...observed, roles: observed.roles })) return good('Ready');
  return why === undefined ? unknown('NotChecked') : bad(why);
}

function profileStanding(pass: Pass, why: Why | undefined): Standing {
  if (why !== undefined && partOf(why) === 'EKSFargateProfileReady') return bad(why);
  const { desired, observed, end } = pass;
  if (desired?.wanted === undefined && isDeleting(pass.object))
    return { status: 'False', reason: 'Deleting', message: '' };
  if (desired === undefined || observed === undefined) return asBefore(pass, 'EKSFargateProfileReady');
  if (end.kind === 'settled') return good('Active');
  return why === undefined ? unknown('NotChecked') : bad(why);
}

/** Nothing new was learnt about it. */
function asBefore({ object }: Pass, type: ConditionType): Standing {
  const before = conditionOf(object.status?.conditions, type);
  return before === undefined
    ? unknown('NotChecked')
    : { status: before.status, reason: before.reason ?? 'NotChecked', message: before.message ?? '' };
}
