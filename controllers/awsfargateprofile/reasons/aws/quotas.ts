import type { FailedCall } from './call-errors.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { MINUTE, SECOND, pollForUserAction, pollDoubling } from '../spec/poll-intervals.ts';
import { type Description, RETRIES } from '../wording/phrases.ts';

const eks = { conditionType: 'EKSFargateProfileReady' } as const;

export const QUOTA_REASONS = {
  QuotaExceeded: defineReason<Description>({
    nature: 'wait',
    ...eks,
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    endedBySibling: 'gone',
    describe: ({ detail }) => `EKS refuses another Fargate profile because of a quota. EKS says: ${detail}`,
    remedy: () =>
      `Delete a Fargate profile of this EKS cluster that you do not need, or ask AWS to raise the quota. ${RETRIES}`,
  }),
  AWSQuotaExceeded: defineReason<FailedCall>({
    nature: 'human',
    poll: pollForUserAction,
    describe: ({ detail }) => `A quota of the AWS account is used up. AWS says: ${detail}`,
    remedy: () => `Delete resources that you do not need, or ask AWS to raise the quota. ${RETRIES}`,
  }),
} as const;
