import type { Ms } from '../../pkg/env/clock.ts';
import type { Leadership } from '../../pkg/runtime/types.ts';

/** No change in AWS takes longer than this, however much is left of the lease. */
const LONGEST_MUTATION: Ms = 10_000;

/** So much of the lease is left when the last answer is in: a successor must not start while a call is under way. */
export const LEASE_MARGIN: Ms = 2_000;

/** How long a change in AWS may take from now, in ms; 0 or less when it must not begin any more. */
export const mutationBudget = (leadership: Leadership): Ms =>
  Math.min(LONGEST_MUTATION, leadership.remaining() - LEASE_MARGIN);
