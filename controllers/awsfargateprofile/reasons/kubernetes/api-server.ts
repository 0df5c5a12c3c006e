import { type ApiRejection, describeApiRejection } from '../../../shared/api-rejections.ts';
import { defineReason } from '../spec/reason-spec.ts';
import { MINUTE, SECOND, pollDoubling } from '../spec/poll-intervals.ts';
import { RETRIES } from '../wording/phrases.ts';

export const API_SERVER_REASONS = {
  /** `isInvalid`: the object that `reason` names has fields with wrong types. */
  WaitingForAPI: defineReason<{ readonly kind: string; readonly reason: string; readonly isInvalid?: true }>({
    nature: 'outage',
    // No watch event follows a request that was rejected or got no answer.
    poll: pollDoubling(2 * SECOND, 30 * SECOND),
    describe: ({ kind, reason, isInvalid = false }) =>
      `the controller cannot read ${isInvalid ? kind : `${kind} objects:`} ${reason}`,
    remedy: ({ isInvalid = false }) =>
      isInvalid
        ? `Correct each field that this message names. ${RETRIES}`
        : `If this lasts for more than five minutes, check that the CRD of this kind is installed, and that the ServiceAccount of the manager may read objects of this kind. ${RETRIES}`,
  }),
  APIServerRefused: defineReason<ApiRejection>({
    nature: 'retry',
    mayStopBeforeAwsRead: true,
    poll: pollDoubling(2 * SECOND, MINUTE),
    // Longer than the rollout of a webhook, which may reject requests until it is complete.
    patience: 2 * MINUTE,
    describe: describeApiRejection,
    remedy: ({ remedy }) => `${remedy}. ${RETRIES}`,
  }),
} as const;
