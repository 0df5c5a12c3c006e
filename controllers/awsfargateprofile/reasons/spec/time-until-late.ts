import type { Ms } from '../../../../pkg/env/clock.ts';
import { MINUTE } from './poll-intervals.ts';

/**
 * The time after which a condition says that EKS takes unusually long to create or delete a Fargate profile. EKS
 * usually needs minutes. The controller never gives up, because only EKS can end a creation or deletion.
 */
export const LATE_AFTER: Ms = 30 * MINUTE;
