import type { Ms } from '../../pkg/env/clock.ts';
import type { Requeue } from '../../pkg/runtime/reconcile.ts';

/**
 * How often the CRD keeper reads the API server although no watch reports a change. It needs three requests each time.
 */
export const WHILE_AT_REST: Ms = 5 * 60_000;
/**
 * How often the CRD keeper tests the webhooks of Cluster API Provider AWS again while one of these webhooks or the CRD
 * of another provider is installed. A stopped CRD keeper reads its ConfigMap at the same interval.
 */
export const WHILE_FOREIGN: Ms = 15_000;
/** How long the API server may still serve the old version after a change of the CRD or of a webhook configuration. */
export const PROPAGATION: Ms = 2_000;

export const after = (delay: Ms, reason: string): Requeue => ({ kind: 'after', delay, reason });
