import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import type { Reason } from '../reasons/reasons.ts';
import type { Settled } from './decision.ts';
import type { Desired } from './desired-state.ts';
import type { Observed } from './observed-state.ts';
import type { Step } from './outcome.ts';

/** How a pass ended: AWS is as desired, or the pass stopped for a reason that status shows. */
export type PassEnd = Settled | { readonly kind: 'stopped'; readonly reason: Reason };

export const stoppedBy = (reason: Reason): PassEnd => ({ kind: 'stopped', reason });

/** The end of a pass that leaves status unchanged, because another pass follows soon. */
export type DroppedPass =
  /** Another client wrote the object during the pass. The next pass follows at once. */
  | { readonly kind: 'conflict' }
  /**
   * The next pass follows at once (`changed`: the facts of this pass are outdated) or after about a second (`later`).
   */
  | { readonly kind: 'quit'; readonly because: string; readonly until: 'changed' | 'later' };

/**
 * The observed state of AWS. The roles are missing if the pass did not read them, because EKS is creating or deleting a
 * profile.
 */
export type PartiallyObserved = Pick<Observed, 'cluster' | 'profiles'> &
  Partial<Pick<Observed, 'roles' | 'accessEntries'>>;

/** How a pass ended, with the facts that led to this end. */
export interface PassResult {
  /** The object as the pass last read or wrote it. */
  readonly object: AWSFargateProfile;
  readonly end: PassEnd | DroppedPass;
  /** The desired state; undefined if the pass ended before the credentials were accepted. */
  readonly desired?: Desired;
  /**
   * The state of AWS with the outcomes of the pass's mutations applied; undefined if the pass ended before AWS was
   * read.
   */
  readonly observed?: PartiallyObserved;
  /** The mutations that the pass has sent, in order. */
  readonly steps?: readonly Step[];
}

/** A pass that has settled or stopped for a reason. Status, conditions and events are derived from it. */
export interface CompletedPass extends PassResult {
  readonly end: PassEnd;
  readonly steps: readonly Step[];
  /** The time at the end of the pass on the wall clock, in milliseconds since 1970. */
  readonly now: Ms;
  /** How long the object has waited for the reason for which the pass stopped. */
  readonly waited: Ms;
  /** How many times in a row the controller has retried a profile that EKS failed to create or delete. */
  readonly attempts: number;
}
