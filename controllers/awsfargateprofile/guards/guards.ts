import { apiRejectionFrom } from '../../shared/api-rejections.ts';
import type { Mutation } from '../model/mutation.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import type { PassState } from './pass-state.ts';

/** Why a change is not sent to AWS. */
export type Obstacle =
  | { readonly kind: 'stop'; readonly reason: Reason }
  /**
   * The IAM role or its access entry stays, because an object or Fargate profile uses it: `by` names it. The other
   * changes follow.
   */
  | { readonly kind: 'keep'; readonly by: string };

export const stop = (reason: Reason): Obstacle => ({ kind: 'stop', reason });

/** A check before a change in AWS. A check reads AWS or Kubernetes and writes nothing. */
export type Check = (mutation: Mutation, pass: PassState) => Promise<Obstacle | undefined>;

/**
 * A preparation before a change in AWS. A preparation writes to the API server, or takes a place in the queue of
 * profile changes of the EKS cluster.
 */
export type Preparation = (mutation: Mutation, pass: PassState) => Promise<Obstacle | undefined>;

export interface Guards {
  readonly checks: readonly Check[];
  readonly preparations: readonly Preparation[];
}

/**
 * Runs all checks before a change in AWS, then all preparations, and returns the first obstacle. A request that the API
 * server rejects is an obstacle too. Other errors are thrown.
 */
export async function findObstacle(
  { checks, preparations }: Guards,
  mutation: Mutation,
  pass: PassState,
): Promise<Obstacle | undefined> {
  try {
    return await firstObstacle([...checks, ...preparations], mutation, pass);
  } catch (error) {
    const rejection = apiRejectionFrom(error);
    if (rejection === undefined) throw error;
    return stop(newReason('APIServerRefused', rejection));
  }
}

/** Runs the checks or preparations in their order until one of them returns an obstacle, and returns this obstacle. */
export async function firstObstacle(
  guards: readonly (Check | Preparation)[],
  mutation: Mutation,
  pass: PassState,
): Promise<Obstacle | undefined> {
  for (const guard of guards) {
    const obstacle = await guard(mutation, pass);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}
