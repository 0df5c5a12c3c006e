import type { AwsService } from '../errors/failure.ts';
import type { RateLimit } from './limiter.ts';

/** Whether an AWS call changes something in AWS (`mutation`) or not (`read`). */
export type CallKind = 'read' | 'mutation';

/**
 * The upper bounds of the rates at which the manager sends AWS calls: per account for IAM, per account and region for
 * EKS, per credential source and region for STS. AWS does not publish most limits of these calls, so the rate limiter
 * lowers a rate when AWS throttles. Thanks to the upper bounds, AWS does not throttle the manager of a large
 * installation as soon as the manager starts.
 */
const LIMITS: Readonly<Record<AwsService, Readonly<Record<CallKind, RateLimit>>>> = {
  eks: { read: { rate: 100, burst: 100 }, mutation: { rate: 50, burst: 50 } },
  iam: { read: { rate: 100, burst: 100 }, mutation: { rate: 50, burst: 50 } },
  sts: { read: { rate: 20, burst: 20 }, mutation: { rate: 20, burst: 20 } },
};

export const rateLimitFor = (service: AwsService, kind: CallKind): RateLimit => LIMITS[service][kind];
