import { LEASE_SAFETY_MARGIN } from '../../../../pkg/cloud/index.ts';
import type { Ms } from '../../../../pkg/env/clock.ts';
import type { Leadership } from '../../../../pkg/runtime/leadership.ts';

const LONGEST_MUTATION: Ms = 10_000;

/** With 0 or less, the change must not be sent. */
export const mutationTimeLeft = (leadership: Leadership): Ms =>
  Math.min(LONGEST_MUTATION, leadership.remaining() - LEASE_SAFETY_MARGIN);
