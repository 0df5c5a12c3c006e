import type { Ms } from '../../env/clock.ts';

/**
 * The longest pause between two passes over an object, as a multiple of the resync interval. The pauses vary at random.
 */
const LONGEST_PAUSE = 1.5;

/**
 * Returns how long a cache keeps an unused entry that the passes over an object need: at least `least`, and at least as
 * long as the longest pause between two passes.
 */
export const retentionOf = (least: Ms, resync: Ms): Ms => Math.max(least, LONGEST_PAUSE * resync);
