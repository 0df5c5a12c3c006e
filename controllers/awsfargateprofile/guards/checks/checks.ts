import type { Clock, Ms } from '../../../../pkg/env/clock.ts';
import type { ServedSchema } from '../../../shared/crd/served-schema.ts';
import { isDestructive, isRoleRemoval } from '../../model/mutation.ts';
import { reasonForSchema } from '../../reasons/reason-for-crd.ts';
import { failureBackoffExpired, refusalExpired } from './backoff-checks.ts';
import type { Check } from '../guards.ts';
import type { LiveChecks } from './live-checks.ts';
import { readRoleUsage, readUsageByProfiles } from './role-usage.ts';

export interface CheckServices {
  readonly clock: Clock;
  readonly live: LiveChecks;
  readonly schema: Pick<ServedSchema, 'check'>;
  /**
   * How long a change in AWS may take from now, in ms. The value is 0 or less if this process may have lost its leader
   * lease.
   */
  readonly mutationTimeLeft: () => Ms;
}

/**
 * Returns all checks that run before a change in AWS, in their order: the cheapest first. The checks that ask the API
 * server are last, because a pause may begin while the check of an IAM role reads all Fargate profiles of the EKS
 * cluster.
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

/** Returns the checks that ask the API server whether the controller may still delete AWS resources of the object. */
export const newDeletionChecks = (services: Pick<CheckServices, 'live' | 'schema'>): readonly Check[] => [
  notPaused(services),
  schemaIsOurs(services),
];

/** Returns a check that holds back every change in AWS if this process may have lost its leader lease. */
export function leaseValid({ mutationTimeLeft }: Pick<CheckServices, 'mutationTimeLeft'>): Check {
  return async () =>
    mutationTimeLeft() > 0 ? undefined : { kind: 'quit', because: 'the lease may have run out', until: 'later' };
}

/**
 * Returns a check that holds back deletions in AWS while the object is paused. The check asks the API server, because
 * the cache may not show a new pause yet.
 */
export function notPaused({ live }: Pick<CheckServices, 'live'>): Check {
  return async (mutation, { object, signal }) => {
    if (!isDestructive(mutation)) return undefined;
    const because = await live.findBlocker(object, signal);
    return because === undefined ? undefined : { kind: 'quit', because, until: 'later' };
  };
}

/**
 * Returns a check that holds back deletions in AWS while another CRD for AWSFargateProfiles is installed, such as the
 * CRD of Cluster API Provider AWS. The API server hides fields that this CRD lacks, so `deletionPolicy: Retain` may be
 * invisible. Each reconcile checks the CRD also at its start, but that answer may be outdated before the deletion.
 */
export function schemaIsOurs({ schema }: Pick<CheckServices, 'schema'>): Check {
  return async (mutation, { signal }) => {
    const reason = isDestructive(mutation) ? reasonForSchema(await schema.check(signal)) : undefined;
    return reason && { kind: 'stop', reason };
  };
}

/**
 * Returns a check that prevents the deletion of an IAM role that another AWSFargateProfile or another Fargate profile
 * uses. A reconcile checks a role once, because this process lets no other reconcile change the same role meanwhile.
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
 * Returns a check that keeps an outdated EKS access entry while another live profile of the EKS cluster uses the role.
 * It applies before the creation of a profile. After the new profile is ACTIVE, the controller replaces the entry.
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
