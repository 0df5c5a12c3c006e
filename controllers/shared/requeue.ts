import type { Requeue } from 'controller-runtime/controller';
import type { Ms } from 'controller-runtime/env';

export const DONE: Requeue = { kind: 'done' };
export const CONFLICT: Requeue = { kind: 'conflict' };
export const backOff = (reason: string): Requeue => ({ kind: 'backoff', reason });
export const after = (delay: Ms, reason: string): Requeue => ({ kind: 'after', delay, reason });

/** Without a valid lease, nothing may be changed, because the caches of a former leader may be outdated. */
export const LEASE_EXPIRED = backOff('the lease may have run out');
