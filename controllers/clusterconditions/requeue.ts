import type { Ms } from '../../pkg/env/clock.ts';
import type { Requeue } from '../../pkg/runtime/reconcile.ts';

/**
 * The minimum time between two writes of one Cluster. Changes of its AWSFargateProfiles in this time are written
 * together.
 */
export const MIN_INTERVAL: Ms = 5_000;
/** The time until the next attempt after the API server has refused a write. */
export const REJECTION_INTERVAL: Ms = 5 * 60_000;

export const DONE: Requeue = { kind: 'done' };
