import type { Requeue } from '../../pkg/runtime/reconcile.ts';

export const DONE: Requeue = { kind: 'done' };

/**
 * The requeue after the API server has rejected a request. A user or an operator has to act, and the next reconcile
 * tries again.
 */
export const API_REJECTED: Requeue = {
  kind: 'after',
  delay: 15_000,
  reason: 'the API server refuses what the teardown needs',
};

/**
 * The requeue after a deletion that was skipped, because the API server shows a pause or a change that the caches do
 * not show yet. Usually a watch event starts the next reconcile earlier.
 */
export const BLOCKED: Requeue = { kind: 'after', delay: 2_000, reason: 'a profile may not be deleted now' };

/**
 * The requeue after one batch of the AWSFargateProfiles of a large cluster, so that other Clusters are reconciled in
 * between.
 */
export const NEXT_BATCH: Requeue = { kind: 'after', delay: 0, reason: 'the cluster has more profiles to delete' };

/**
 * The requeue after the last batch of AWSFargateProfiles, if the cache still shows AWSFargateProfiles of an earlier
 * batch as not deleted.
 */
export const NEXT_ROUND: Requeue = { kind: 'after', delay: 2_000, reason: 'the cache does not show all deletions yet' };

export const LEFT_TO_OTHERS: Requeue = {
  kind: 'after',
  delay: 15_000,
  reason: 'the schema of AWSFargateProfiles is foreign, or another provider reconciles them',
};

/**
 * The requeue while a control plane is being deleted and an AWSFargateProfile that the cache does not find still needs
 * the control plane. Until that AWSFargateProfile has lost this controller's finalizer, the control plane keeps its own.
 * Often a manager with another watch filter reconciles the AWSFargateProfile, so no watch event tells this manager when
 * this happens.
 */
export const PROFILE_LEFT: Requeue = {
  kind: 'after',
  delay: 30_000,
  reason: 'a profile of the cluster that this manager does not delete has not been deleted',
};

export const backOff = (reason: string): Requeue => ({ kind: 'backoff', reason });

export const schemaUnreadable = (reason: string): Requeue =>
  backOff(`the CRD of AWSFargateProfiles cannot be read: ${reason}`);

export const LEASE_EXPIRED = backOff('the lease may have run out');
