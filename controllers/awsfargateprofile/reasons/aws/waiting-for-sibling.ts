import type { Ms } from '../../../../pkg/env/clock.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { SECOND } from '../spec/poll-intervals.ts';
import { quoted } from '../wording/phrases.ts';

/** While a pass of this process watches the change, whose end enqueues the waiting object. */
const OBSERVED_SIBLING_POLL: Ms = 30 * SECOND;
/** While no pass watches the change, for example that of another manager. */
const UNOBSERVED_SIBLING_POLL: Ms = 5 * SECOND;

export const SIBLING_REASONS = {
  /** `doing` completes the sentence "Fargate profile x is …". */
  WaitingForSibling: defineReason<{ readonly ahead: string; readonly doing: string; readonly isUnverified: boolean }>({
    nature: 'wait',
    conditionType: 'EKSFargateProfileReady',
    poll: (_waited, { isUnverified }) => (isUnverified ? UNOBSERVED_SIBLING_POLL : OBSERVED_SIBLING_POLL),
    describe: ({ ahead, doing }) =>
      `EKS changes only one Fargate profile of a cluster at a time, and Fargate profile ${quoted(ahead)} is ${doing}`,
    remedy: () => 'The controller waits, and then continues with the profile of this object on its own',
  }),
} as const;
