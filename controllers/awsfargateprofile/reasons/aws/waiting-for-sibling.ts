import type { Ms } from '../../../../pkg/env/clock.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { SECOND } from '../spec/poll-intervals.ts';
import { quoted } from '../wording/phrases.ts';

/**
 * The delay of an object while EKS changes another Fargate profile of the same cluster, if this process observes that
 * change. The delay may be long, because the end of the change enqueues the waiting object.
 */
const OBSERVED_SIBLING_POLL: Ms = 30 * SECOND;
/**
 * The delay of an object while EKS changes another Fargate profile of the same cluster, if no reconcile of this process
 * observes the change, for example the change of another manager.
 */
const UNOBSERVED_SIBLING_POLL: Ms = 5 * SECOND;

/** The condition reason for an object whose profile waits for another profile of the same EKS cluster. */
export const SIBLING_REASONS = {
  /**
   * `ahead` is the name of the Fargate profile that EKS is changing, or that is next in the queue. `doing` completes
   * the sentence "Fargate profile x is …".
   */
  WaitingForSibling: defineReason<{ readonly ahead: string; readonly doing: string; readonly isUnverified: boolean }>({
    nature: 'wait',
    conditionType: 'EKSFargateProfileReady',
    poll: (_waited, { isUnverified }) => (isUnverified ? UNOBSERVED_SIBLING_POLL : OBSERVED_SIBLING_POLL),
    describe: ({ ahead, doing }) =>
      `EKS changes only one Fargate profile of a cluster at a time, and Fargate profile ${quoted(ahead)} is ${doing}`,
    remedy: () => 'The controller waits, and then continues with the profile of this object on its own',
  }),
} as const;
