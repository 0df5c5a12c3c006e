import type { Ms } from '../../env/clock.ts';

/**
 * How long a read (an AWS call that changes nothing) waits for the response of AWS. EKS and IAM respond within about a
 * second. A mutation has its own time budget instead.
 */
export const READ_DEADLINE: Ms = 10_000;
/** How long an AWS call may take to fetch the credentials and sign the request, before the request is sent. */
export const SIGNING_DEADLINE: Ms = 10_000;
/**
 * How long an AWS call may wait for the permission of the rate limiter. A call that would wait longer fails, so that
 * the worker can reconcile other objects.
 */
export const LIMITER_DEADLINE: Ms = 15_000;
