import {
  type AffectedConditionType,
  defineReason,
  MINUTE,
  SECOND,
  pollForUserAction,
  pollDoubling,
  MISSING_PATIENCE,
  pollProgress,
} from './definition.ts';
import {
  type Abandonable,
  remedyFor,
  type DeniedCall,
  remedyForDenial,
  type OfTarget,
  type SubnetSource,
  RETRIES,
  CONTINUES,
  IF_UNREACHABLE,
  listed,
  quoted,
  describeSubnetCorrection,
  type Description,
} from './wording.ts';

/** `detail` contains AWS's error message and the call's name. The condition `about` becomes False. */
export type FailedCall = { readonly detail: string; readonly about?: AffectedConditionType };

export interface TagChange {
  readonly change: 'set' | 'remove';
  readonly keys: readonly string[];
  readonly resource: string;
}

const describeTagChange = ({ change, keys, resource }: TagChange): string =>
  `${change} the ${keys.length === 1 ? 'tag' : 'tags'} ${listed(keys.map(quoted))} of ${resource}`;

/** `signatureTime`: AWS rejects the time in the signature. `serviceError`: AWS reports an error of its own. */
type Unavailability = 'throttled' | 'signatureTime' | 'serviceError' | 'noAnswer';

const UNAVAILABILITY_CURES: Readonly<Record<Unavailability, readonly string[]>> = {
  throttled: [],
  signatureTime: [
    "If this lasts longer than a minute, check the clock of the manager's node. The credentials stay in use",
  ],
  serviceError: ['If this lasts longer than ten minutes, check the health of this service in the AWS Health Dashboard'],
  noAnswer: [IF_UNREACHABLE],
};

const whileUnavailable = pollDoubling(2 * SECOND, MINUTE);

/**
 * `violation` says which field has a value that AWS cannot accept, and the right form. The message contains it unless
 * AWS's own message refers to another field.
 */
type Refusal = FailedCall & { readonly subnets?: SubnetSource; readonly violation?: string | undefined };

const SELECTORS = 'spec.selectors';
const SUBNETS = /\bsubnets?\b/i;
/** The field to correct, by a word in AWS's error message. The first match counts. */
const FIELDS_BY_WORD: readonly (readonly [word: RegExp, field: string])[] = [
  [/permissions ?boundary/i, 'spec.rolePermissionsBoundary'],
  [/\bpolicy\b/i, 'spec.roleAdditionalPolicies'],
  [/\bselectors?\b|\blabels?\b/i, SELECTORS],
  [/\btags?\b/i, 'spec.additionalTags'],
];

function describeCorrection({ detail, subnets = 'spec', violation }: Refusal): string {
  if (SUBNETS.test(detail)) return describeSubnetCorrection(subnets);
  const field = FIELDS_BY_WORD.find(([word]) => word.test(detail))?.[1];
  return violation !== undefined && (field === undefined || field === SELECTORS)
    ? `Fix ${violation}`
    : `Fix ${field ?? 'the spec'}, or the AWS resource that it names`;
}

export const AWS_CALL_REASONS = {
  AccessDenied: defineReason<FailedCall & DeniedCall & { readonly tags?: TagChange }>({
    nature: 'human',
    patience: MISSING_PATIENCE,
    poll: pollForUserAction,
    describe: ({ detail, tags }) =>
      `AWS denies a request of the controller${tags === undefined ? '' : ` to ${describeTagChange(tags)}`}. AWS says: ${detail}`,
    remedy: (facts) =>
      `${remedyForDenial(facts)}${facts.tags?.change === 'remove' ? ', or remove this in AWS yourself' : ''}. ${RETRIES}`,
  }),
  AWSUnavailable: defineReason<FailedCall & { readonly why?: Unavailability }>({
    nature: 'outage',
    // The rate limiter already delays throttled requests. With a longer delay, one of 200 profiles that were created at
    // once came half a minute after all others.
    poll: (waited, facts) => (facts.why === 'throttled' ? 2 * SECOND : whileUnavailable(waited, facts)),
    describe: ({ detail }) => detail,
    remedy: ({ why = 'noAnswer' }) => [...UNAVAILABILITY_CURES[why], RETRIES].join('. '),
  }),
  AWSError: defineReason<FailedCall & { readonly missing?: string }>({
    nature: 'retry',
    poll: pollDoubling(5 * SECOND, 5 * MINUTE),
    // The controller makes about five attempts in this time.
    patience: 2 * MINUTE,
    describe: ({ detail, missing }) =>
      missing === undefined ? `AWS returns an error: ${detail}` : `AWS says that ${missing} does not exist: ${detail}`,
    remedy: () =>
      `If this lasts longer than ten minutes, look at the log of the manager with --v=4, or ask AWS Support. ${RETRIES}`,
  }),
  SDKRefused: defineReason<FailedCall & Abandonable & OfTarget & { readonly region: string }>({
    nature: 'human',
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    describe: ({ detail, region }) =>
      `the AWS SDK does not send a request of the controller to region ${quoted(region)}. The SDK says: ${detail}`,
    remedy: ({ abandonment, isOfObject = false }) =>
      remedyFor(
        `Fix the settings of the manager: AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT, AWS_ENDPOINT_URL and --service-endpoints. Or ${
          isOfObject
            ? 'create another AWSFargateProfile with another region in spec.eksCluster.region'
            : 'fix spec.region of the control plane, if it names the wrong region'
        }`,
        CONTINUES,
        abandonment,
        'the region stays unusable',
      ),
  }),
  Refused: defineReason<Refusal>({
    nature: 'human',
    poll: pollForUserAction,
    describe: ({ detail }) => `AWS rejects a request of the controller. AWS says: ${detail}`,
    remedy: (facts) => `${describeCorrection(facts)}. ${RETRIES}`,
  }),
} as const;

const eks = { conditionType: 'EKSFargateProfileReady' } as const;

export const QUOTA_REASONS = {
  QuotaExceeded: defineReason<Description>({
    nature: 'wait',
    ...eks,
    poll: pollDoubling(30 * SECOND, 5 * MINUTE),
    endedBySibling: 'gone',
    describe: ({ detail }) => `EKS rejects another Fargate profile because of a quota. EKS says: ${detail}`,
    remedy: () =>
      `Delete a Fargate profile of this EKS cluster that you do not need, or ask AWS to raise the quota. ${RETRIES}`,
  }),
  AWSQuotaExceeded: defineReason<FailedCall>({
    nature: 'human',
    poll: pollForUserAction,
    describe: ({ detail }) => `The AWS account has reached a quota. AWS says: ${detail}`,
    remedy: () => `Delete resources that you do not need, or ask AWS to raise the quota. ${RETRIES}`,
  }),
} as const;

export const PROPAGATION_REASONS = {
  Propagating: defineReason<Description & { readonly remedy?: string }>({
    nature: 'wait',
    poll: pollProgress,
    describe: ({ detail }) => detail,
    remedy: ({ remedy = RETRIES }) => remedy,
  }),
} as const;
