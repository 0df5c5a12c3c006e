import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { ProfileRecord } from '../../shared/record.ts';
import type { Session } from '../../../pkg/cloud/index.ts';
import type { Desired } from '../model/desired-state.ts';
import type { DesiredInputs } from '../desired/desired.ts';
import type { Observed } from '../model/observed-state.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import type { RetryHandle } from '../retry-state.ts';
import { apiRejectionFrom } from '../../shared/api-rejections.ts';
import type { Drained, Mutation, Plan } from '../model/change.ts';
import type { Execution } from '../model/result.ts';

export interface ReconcileState extends DesiredInputs {
  /** The object as this reconcile last read or wrote it. */
  object: AWSFargateProfile;
  /** The record as this reconcile last wrote it, or will write it at its end. */
  record: ProfileRecord;
  /** Whether the API server has confirmed in this reconcile that no other client has written the object. */
  isConfirmed?: boolean;
  readonly observed: Observed;
  readonly desired: Desired;
  readonly plan: Plan;
  readonly session: Session;
  readonly retry: RetryHandle;
  readonly queueKey: string;
  /** Set if this reconcile deletes a drained profile. */
  drained?: Drained;
  readonly signal: AbortSignal;
  readonly execution: Execution;
}

export type Obstacle =
  | { readonly kind: 'stop'; readonly reason: Reason }
  /**
   * The role or its access entry is kept, because `by` uses it. The execution continues with the other changes, unless
   * the spec wants this role with another path, for which the role has to be deleted.
   */
  | { readonly kind: 'keep'; readonly by: string }
  /** Of the tags of a role, only those with these keys may be removed, because others use the rest. */
  | { readonly kind: 'untagOnly'; readonly keys: readonly string[] };

export const stop = (reason: Reason): Obstacle => ({ kind: 'stop', reason });

/**
 * Runs before a change in AWS. Most guards only check whether the change is allowed now; others prepare it, such as by
 * writing the record. Each guard decides which changes it is about.
 */
export type Guard = (mutation: Mutation, reconcile: ReconcileState) => Promise<Obstacle | undefined>;

/** Returns the first obstacle. A request that the API server rejects is an obstacle too. Throws other errors. */
export async function findObstacle(
  guards: readonly Guard[],
  mutation: Mutation,
  reconcile: ReconcileState,
): Promise<Obstacle | undefined> {
  try {
    for (const guard of guards) {
      const obstacle = await guard(mutation, reconcile);
      if (obstacle !== undefined) return obstacle;
    }
    return undefined;
  } catch (error) {
    const rejection = apiRejectionFrom(error);
    if (rejection === undefined) throw error;
    return stop(newReason('APIServerRefused', rejection));
  }
}
