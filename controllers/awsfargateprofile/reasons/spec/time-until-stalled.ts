import type { Ms } from '../../../../pkg/env/clock.ts';
import { MINUTE } from './poll-intervals.ts';

/**
 * Tools such as Flux apply objects in any order, and IAM takes up to two minutes to make a new permission visible
 * everywhere.
 */
export const MISSING_PATIENCE: Ms = 2 * MINUTE;

/** The controller continues to retry. */
export const ATTEMPTS_UNTIL_STALLED = 5;
