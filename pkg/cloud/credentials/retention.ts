import type { Ms } from '../../env/clock.ts';

/**
 * An upper bound of the pause between two reconciles of an unchanged object, as a multiple of the resync interval. The
 * factor is above 1, because the pauses vary randomly (jitter).
 */
const LONGEST_PAUSE = 1.5;

/**
 * Returns how long a cache keeps an unused entry: `least`, or the longest pause between two reconciles of an unchanged
 * object if this pause is longer.
 */
export const retentionOf = (least: Ms, resync: Ms): Ms => Math.max(least, LONGEST_PAUSE * resync);
