import type { Ms } from '../../../../pkg/env/clock.ts';
import { MINUTE } from './poll-intervals.ts';

/**
 * The time until `Stalled` becomes True if an identity, a Secret or a permission is missing. Tools such as Flux apply
 * objects in any order, and IAM takes up to two minutes to make a new permission visible everywhere.
 */
export const MISSING_PATIENCE: Ms = 2 * MINUTE;

/** The number of failed attempts after which `Stalled` becomes True. The controller continues to retry. */
export const ATTEMPTS_UNTIL_STALLED = 5;
