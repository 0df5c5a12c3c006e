import { apiRejectionFrom } from '../../shared/api-rejections.ts';
import type { Mutation } from '../model/mutation.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import type { PassState } from './pass-state.ts';

export type Obstacle =
  | { readonly kind: 'stop'; readonly reason: Reason }
  /** The role or its access entry stays, because `by` uses it. The other changes follow. */
  | { readonly kind: 'keep'; readonly by: string };

export const stop = (reason: Reason): Obstacle => ({ kind: 'stop', reason });

/** Reads AWS or Kubernetes, and writes nothing. */
export type Check = (mutation: Mutation, pass: PassState) => Promise<Obstacle | undefined>;

/** Writes to the API server, or takes a turn in the lane. */
export type Preparation = (mutation: Mutation, pass: PassState) => Promise<Obstacle | undefined>;

export interface Guards {
  readonly checks: readonly Check[];
  readonly preparations: readonly Preparation[];
}

/** A request that the API server rejects is an obstacle too. Other errors are thrown. */
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

async function firstObstacle(
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
