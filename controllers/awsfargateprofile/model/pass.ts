import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Settled } from './decision.ts';
import type { Desired } from './desired-state.ts';
import type { Observed } from './observed-state.ts';
import type { Step } from './outcome.ts';

/** How a reconcile ended: AWS is as the spec asks for, or the reconcile stopped for a reason that status shows. */
export type PassEnd = Settled | StoppedPass;

/** The end of a reconcile that stopped for a reason. */
export interface StoppedPass {
  readonly kind: 'stopped';
  readonly reason: Reason;
}

export const stoppedBy = (reason: Reason): StoppedPass => ({ kind: 'stopped', reason });

/** The end of a reconcile that leaves status unchanged, because another reconcile follows soon. */
export type DroppedPass =
  /** Another client wrote or deleted the object during the reconcile. The next reconcile follows at once. */
  | { readonly kind: 'conflict' }
  /**
   * The next reconcile follows at once (`changed`: the facts of this reconcile are outdated) or after about a second
   * (`later`).
   */
  | { readonly kind: 'quit'; readonly because: string; readonly until: 'changed' | 'later' };

/**
 * The observed state of AWS. The IAM roles are missing if the reconcile did not read them, for example because EKS is
 * creating or deleting a Fargate profile.
 */
export type PartiallyObserved = Pick<Observed, 'cluster' | 'profiles'> &
  Partial<Pick<Observed, 'roles' | 'accessEntries' | 'authenticationMode'>>;

/** How a reconcile ended, with the facts that led to this end. */
export interface PassResult {
  /** The object as this reconcile last read or wrote it. */
  readonly object: AWSFargateProfile;
  readonly end: PassEnd | DroppedPass;
  /**
   * The desired state; undefined if the reconcile ended before the controller computed it, for example without
   * credentials, or if the spec is invalid.
   */
  readonly desired?: Desired;
  /**
   * The state of AWS, updated with the changes that this reconcile has made; undefined if the reconcile ended before
   * AWS was read.
   */
  readonly observed?: PartiallyObserved;
  /** The changes that the reconcile has sent to AWS, in order. */
  readonly steps?: readonly Step[];
}

/**
 * A reconcile that has reached the state of the spec or has stopped for a reason. Status, conditions and events are
 * derived from it.
 */
export interface CompletedPass extends PassResult {
  readonly end: PassEnd;
  readonly steps: readonly Step[];
  /** The wall-clock time at the end of the reconcile, in milliseconds since 1970. */
  readonly now: Ms;
  /** How long the object has waited because of the reason for which the reconcile stopped; 0 if it did not stop. */
  readonly waited: Ms;
  /** How many times in a row the controller has retried a Fargate profile that EKS failed to create or delete. */
  readonly attempts: number;
}
