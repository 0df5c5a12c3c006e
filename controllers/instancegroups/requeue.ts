import type { Requeue } from '../../pkg/runtime/reconcile.ts';

export const DONE: Requeue = { kind: 'done' };

/**
 * The requeue after an error that only a user can end. The next reconcile repeats the event about the error, because
 * events expire after an hour.
 */
export const RETRY_REFUSED: Requeue = {
  kind: 'after',
  delay: 30 * 60_000,
  reason: 'the InstanceGroup has an error that a user must end',
};

/**
 * The requeue after the API server has refused a request for a reason that has nothing to do with the spec, or while
 * the CRD of another provider is installed.
 */
export const RETRY_SOON: Requeue = { kind: 'after', delay: 15_000, reason: 'the API server refuses a request' };

/**
 * The requeue while another manager reconciles the AWSFargateProfile, whose changes no watch of this manager reports.
 */
export const WATCHED_ELSEWHERE: Requeue = {
  kind: 'after',
  delay: 15_000,
  reason: 'another manager reconciles the AWSFargateProfile',
};

export const backOff = (reason: string): Requeue => ({ kind: 'backoff', reason });

export const LEASE_EXPIRED = backOff('the lease may have run out');
