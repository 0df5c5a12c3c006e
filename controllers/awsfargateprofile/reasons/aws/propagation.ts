import { defineReason } from '../spec/reason-spec.ts';
import { pollProgress } from '../spec/poll-intervals.ts';
import { type Description, RETRIES } from '../wording/phrases.ts';

export const PROPAGATION_REASONS = {
  Propagating: defineReason<Description & { readonly remedy?: string }>({
    nature: 'wait',
    poll: pollProgress,
    describe: ({ detail }) => detail,
    remedy: ({ remedy = RETRIES }) => remedy,
  }),
} as const;
