import type { Ms } from '../../../pkg/env/clock.ts';
import type { Leadership } from '../../../pkg/runtime/types.ts';

/** The longest time that a mutation may take, however long the lease lasts. */
const LONGEST_MUTATION: Ms = 10_000;

/**
 * Each mutation must be completed this long before the lease expires, so that the next leader never starts during a
 * mutation.
 */
export const LEASE_SAFETY_MARGIN: Ms = 2_000;

/** How long a mutation may take from now, in ms. If the result is 0 or less, the mutation must not be sent. */
export const mutationTimeLeft = (leadership: Leadership): Ms =>
  Math.min(LONGEST_MUTATION, leadership.remaining() - LEASE_SAFETY_MARGIN);
