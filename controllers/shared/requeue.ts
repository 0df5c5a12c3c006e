import type { Ms } from '../../pkg/env/clock.ts';
import type { Requeue } from '../../pkg/runtime/reconcile.ts';

export const DONE: Requeue = { kind: 'done' };
export const CONFLICT: Requeue = { kind: 'conflict' };
export const backOff = (reason: string): Requeue => ({ kind: 'backoff', reason });
export const after = (delay: Ms, reason: string): Requeue => ({ kind: 'after', delay, reason });

/** Nothing is changed without a valid lease, because the caches of a former leader may be outdated. */
export const LEASE_EXPIRED = backOff('the lease may have run out');
