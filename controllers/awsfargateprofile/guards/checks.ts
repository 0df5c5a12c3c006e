import type { Clock, Ms } from '../../../pkg/env/clock.ts';
import type { ServedSchema } from '../../shared/served-schema.ts';
import { findProfile } from '../decide/compare.ts';
import { isDestructive, isRoleRemoval } from '../model/mutation.ts';
import { newReason } from '../reasons/reasons.ts';
import { reasonForSchema } from '../reasons/schema.ts';
import { isRetryOfFailedProfile, mutationKey, refusalFor } from '../retry/retry-state.ts';
import type { Check } from './guards.ts';
import type { LiveChecks } from './live-checks.ts';
import { readRoleUsage, readUsageByProfiles } from './role-usage.ts';

export interface CheckServices {
  readonly clock: Clock;
  readonly live: LiveChecks;
  readonly schema: Pick<ServedSchema, 'check'>;
  /** How long a mutation may take from now, in ms; 0 or less if this process may have lost the Lease. */
  readonly mutationTimeLeft: () => Ms;
}

/**
 * All checks before a mutation, in the order in which they run: the cheapest first. The live checks are last, because
 * the check of a role reads all profiles of the EKS cluster, and a pause may begin meanwhile.
 */
export function newChecks(services: CheckServices): readonly Check[] {
  return [
    refusalExpired(services),
    failureBackoffExpired(services),
    leaseValid(services),
    roleUnused(services),
    accessEntryUnused(),
    ...newDeletionChecks(services),
  ];
}

/** The checks that ask the API server whether the object may still be deleted in AWS. */
export const newDeletionChecks = (services: Pick<CheckServices, 'live' | 'schema'>): readonly Check[] => [
  notPaused(services),
  schemaIsOurs(services),
];

/**
 * A check that holds back a mutation that AWS refused recently, until the backoff of the mutation is over or the spec
 * changes.
 */
export function refusalExpired({ clock }: Pick<CheckServices, 'clock'>): Check {
  return async (mutation, { object, retry, target }) => {
    const generation = object.metadata.generation ?? 0;
    const reason = refusalFor(retry.state, mutationKey(mutation, target.identity), generation, clock.monotonic());
    return reason && { kind: 'stop', reason };
  };
}

/** A check that holds back the deletion of a profile that EKS failed to create or delete, until its backoff is over. */
export function failureBackoffExpired({ clock }: Pick<CheckServices, 'clock'>): Check {
  return async (mutation, { observed, retry }) => {
    if (!isRetryOfFailedProfile(mutation, observed)) return undefined;
    const found = findProfile(observed.profiles, mutation.name);
    const now = clock.monotonic();
    if (found === undefined || now >= (retry.state.recovery?.notBefore ?? now)) return undefined;
    const facts = { name: found.name, issues: found.health };
    const name = found.status === 'CREATE_FAILED' ? 'CreateFailed' : 'DeleteFailed';
    return { kind: 'stop', reason: newReason(name, facts) };
  };
}

/** A check that holds back every mutation if this process may have lost the Lease. */
export function leaseValid({ mutationTimeLeft }: Pick<CheckServices, 'mutationTimeLeft'>): Check {
  return async () =>
    mutationTimeLeft() > 0 ? undefined : { kind: 'quit', because: 'the lease may have run out', until: 'later' };
}

/**
 * A check that holds back deletions in AWS while the object is paused. It asks the API server, because the cache may
 * not show a new pause yet.
 */
export function notPaused({ live }: Pick<CheckServices, 'live'>): Check {
  return async (mutation, { object, signal }) => {
    if (!isDestructive(mutation)) return undefined;
    const because = await live.findBlocker(object, signal);
    return because === undefined ? undefined : { kind: 'quit', because, until: 'later' };
  };
}

/**
 * A check that holds back deletions under a foreign CRD: the API server hides fields that the foreign CRD lacks, so a
 * field such as deletionPolicy may be missing. A pass checks the CRD also at its start, but that answer may be outdated
 * at the time of the mutation.
 */
export function schemaIsOurs({ schema }: Pick<CheckServices, 'schema'>): Check {
  return async (mutation, { signal }) => {
    const reason = isDestructive(mutation) ? reasonForSchema(await schema.check(signal)) : undefined;
    return reason && { kind: 'stop', reason };
  };
}

/**
 * A check that prevents the deletion of a role that another AWSFargateProfile or another EKS profile uses. A pass
 * checks a role only once, because no other pass of this process decides about that role at the same time.
 */
export function roleUnused({ live }: Pick<CheckServices, 'live'>): Check {
  return async (mutation, pass) => {
    if (!isRoleRemoval(mutation)) return undefined;
    const usage = pass.roleUsage.get(mutation.name) ?? (await readRoleUsage(live, pass, mutation.name));
    pass.roleUsage.set(mutation.name, usage);
    if (usage.kind === 'unknown') return { kind: 'stop', reason: usage.reason };
    return usage.kind === 'unused' ? undefined : { kind: 'roleInUse', role: mutation.name, by: usage.by };
  };
}

/**
 * A check that prevents the deletion of an outdated access entry before a profile is created, if another live profile
 * of the EKS cluster uses the role. The controller then recreates the entry after the new profile is ACTIVE.
 */
export function accessEntryUnused(): Check {
  return async (mutation, pass) => {
    if (mutation.kind !== 'deleteAccessEntry' || mutation.because !== 'profileCreation') return undefined;
    const usage = await readUsageByProfiles(pass, mutation.name, new Set());
    if (usage.kind === 'unknown') return { kind: 'stop', reason: usage.reason };
    return usage.kind === 'unused'
      ? undefined
      : { kind: 'accessEntryInUse', principal: mutation.principal, by: usage.by };
  };
}
