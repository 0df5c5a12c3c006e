import type { Abandonable } from './abandonment.ts';
import { remedyFor } from './abandonment.ts';
import type { OfTarget } from './target-fields.ts';
import type { ConditionPart } from './entry.ts';
import {
  CONTINUES,
  MINUTE,
  MISSING_PATIENCE,
  RETRIES,
  SECOND,
  defineReason,
  pollDoubling,
  quoted,
  pollForUserAction,
} from './entry.ts';

/**
 * Facts about a failed call to AWS. `detail` has the error message of AWS and the name of the call. `about` is the
 * condition that becomes False because of the failure.
 */
type FailedCall = { readonly detail: string; readonly about?: ConditionPart };

const whileUnavailable = pollDoubling(2 * SECOND, MINUTE);

/** Condition reasons for problems that any call to AWS can have. */
export const AWS_REASONS = {
  AccessDenied: defineReason<FailedCall>({
    nature: 'human',
    patience: MISSING_PATIENCE,
    poll: pollForUserAction,
    describe: ({ detail }) => `AWS denies a request of the controller. AWS says: ${detail}`,
    remedy: () => `Allow this action for the credentials that the controller uses. ${RETRIES}`,
  }),
  AWSUnavailable: defineReason<FailedCall & { readonly isThrottled?: true }>({
    nature: 'outage',
    // The delay is short for throttled requests, because the rate limiter of the AWS client delays them already. With a
    // longer delay, one of 200 creations came half a minute after all others.
    poll: (waited, facts) => (facts.isThrottled === true ? 2 * SECOND : whileUnavailable(waited, facts)),
    describe: ({ detail }) => detail,
    remedy: ({ isThrottled }) =>
      isThrottled === true
        ? RETRIES
        : `If this lasts, look at the network between the manager and AWS: proxy, firewall, VPC endpoint. ${RETRIES}`,
  }),
  AWSError: defineReason<FailedCall>({
    nature: 'retry',
    poll: pollDoubling(5 * SECOND, 5 * MINUTE),
    // Time for about five attempts before `Stalled` becomes True.
    patience: 2 * MINUTE,
    describe: ({ detail }) => `AWS answers a request of the controller with an error: ${detail}`,
    remedy: () =>
      `If the error lasts for more than ten minutes, look for its cause in the AWS account, or ask AWS Support; with --v=4 the log of the manager has the details of each request. ${RETRIES}`,
  }),
  SDKRefused: defineReason<FailedCall & Abandonable & OfTarget & { readonly region: string }>({
    nature: 'human',
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    describe: ({ detail, region }) =>
      `the AWS SDK refuses a request of the controller to region ${quoted(region)} before AWS is asked. The SDK says: ${detail}`,
    remedy: ({ abandonment, isOfObject = false }) =>
      remedyFor(
        `Correct the settings of the manager: AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT, AWS_ENDPOINT_URL and --service-endpoints. Or ${
          isOfObject
            ? 'create another AWSFargateProfile with another region in spec.eksCluster.region'
            : 'correct spec.region of the control plane, if it names the wrong region'
        }`,
        CONTINUES,
        abandonment,
        'the region stays unusable',
      ),
  }),
  Refused: defineReason<FailedCall>({
    nature: 'human',
    poll: pollForUserAction,
    describe: ({ detail }) => `AWS rejects a request of the controller. AWS says: ${detail}`,
    remedy: () => `Correct the spec, or the AWS resource that the spec names. ${RETRIES}`,
  }),
  AWSQuotaExceeded: defineReason<FailedCall>({
    nature: 'human',
    poll: pollForUserAction,
    describe: ({ detail }) => `A quota of the AWS account is used up. AWS says: ${detail}`,
    remedy: () => `Delete resources that you do not need, or ask AWS to raise the quota. ${RETRIES}`,
  }),
  EKSClusterNotFound: defineReason<
    OfTarget & { readonly cluster: string; readonly region: string; readonly account?: string }
  >({
    nature: 'human',
    part: 'EKSFargateProfileReady',
    poll: pollDoubling(15 * SECOND, 5 * MINUTE),
    describe: ({ cluster, region, account }) =>
      `EKS cluster ${quoted(cluster)} does not exist in region ${region}` +
      (account === undefined ? '' : ` of account ${account}`),
    remedy: ({ isOfObject = false }) =>
      isOfObject
        ? `Create the EKS cluster, or correct spec.eksCluster.identityRef if the EKS cluster is in another account. Or delete this object: then the controller deletes its role too; for another EKS cluster create another AWSFargateProfile. ${RETRIES}`
        : `Create the EKS cluster, or correct spec.eksClusterName, spec.region or spec.identityRef of the control plane. ${RETRIES}`,
  }),
} as const;
