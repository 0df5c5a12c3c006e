import type { Ms } from '../../../../pkg/env/clock.ts';
import { MINUTE } from './poll-intervals.ts';

/** EKS usually needs minutes to create or delete a profile. The controller never gives up. */
export const LATE_AFTER: Ms = 30 * MINUTE;
