import { LEASE_SAFETY_MARGIN } from '../../../../pkg/cloud/index.ts';
import type { Ms } from '../../../../pkg/env/clock.ts';
import type { Leadership } from '../../../../pkg/runtime/leadership.ts';

/** The longest time that a change in AWS may take, even if the leader lease lasts longer. */
const LONGEST_MUTATION: Ms = 10_000;

/**
 * Returns how long a change in AWS may take from now, in ms. If the result is 0 or less, the change must not be sent.
 */
export const mutationTimeLeft = (leadership: Leadership): Ms =>
  Math.min(LONGEST_MUTATION, leadership.remaining() - LEASE_SAFETY_MARGIN);
