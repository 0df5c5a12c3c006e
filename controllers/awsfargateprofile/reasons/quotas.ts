import type { FailedCall } from './aws-calls.ts';
import { defineReason, EKS, IN_AWS } from './definition.ts';
import { pollOccasionally } from './polls.ts';
import { type Description, quoteAws, retries } from './wording.ts';

export const QUOTA_REASONS = {
  QuotaExceeded: defineReason<Description>({
    nature: 'wait',
    ...EKS,
    poll: pollOccasionally,
    endedBySibling: 'gone',
    problem: () => 'EKS cannot create another Fargate profile, because a quota has been reached',
    remedy: () => 'Delete a Fargate profile of this EKS cluster that you do not need, or ask AWS to raise the quota',
    outlook: retries,
    quote: ({ detail: said }) => ({ by: 'EKS', said }),
  }),
  AWSQuotaExceeded: defineReason<FailedCall>({
    ...IN_AWS,
    problem: () => 'The AWS account has reached a quota',
    remedy: () => 'Delete resources that you do not need, or ask AWS to raise the quota',
    outlook: retries,
    quote: quoteAws,
  }),
} as const;
