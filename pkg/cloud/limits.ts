import type { Ms } from '../env/clock.ts';
import type { AwsService } from './failure.ts';
import type { RateLimit } from './limiter.ts';

/** Whether a call changes something in AWS. */
export type Kind = 'read' | 'mutation';

/**
 * How fast we go at best. AWS publishes no limits for these calls; the limiter finds the real ones when it is throttled,
 * and these keep a large installation from finding them with a bang.
 */
const LIMITS: Readonly<Record<AwsService, Readonly<Record<Kind, RateLimit>>>> = {
  eks: { read: { rate: 100, burst: 100 }, mutation: { rate: 50, burst: 50 } },
  iam: { read: { rate: 100, burst: 100 }, mutation: { rate: 50, burst: 50 } },
  sts: { read: { rate: 20, burst: 20 }, mutation: { rate: 20, burst: 20 } },
};

export const limitOf = (service: AwsService, kind: Kind): RateLimit => LIMITS[service][kind];

/** For the answer of a read; a mutation asks for its own budget. EKS and IAM answer in about a second at worst. */
export const READ_DEADLINE: Ms = 10_000;
/** For credentials and signature, before anything is sent. */
export const PREPARATION_DEADLINE: Ms = 10_000;
/** A call that the limiter holds back longer makes room for other keys' work. */
export const LONGEST_TURN: Ms = 15_000;
