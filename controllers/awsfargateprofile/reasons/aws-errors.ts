import { type AffectedConditionType, defineReason, IN_AWS, MISSING_PATIENCE, EKS } from './definition.ts';
import { MINUTE, pollAwsError, pollOccasionally, pollProgress, pollUnavailableAws } from './delays.ts';
import {
  type Abandonable,
  remedyFor,
  remedyForDeletion,
  type DeniedCall,
  remedyForDenial,
  type OfTarget,
  type SubnetSource,
  retries,
  continues,
  IF_UNREACHABLE,
  listed,
  quoted,
  describeSubnetCorrection,
  type Description,
  quoteAws,
} from './wording.ts';
import type { Quote } from '../../shared/message.ts';

/** `detail` contains AWS's error message and the call's name. The condition `about` becomes False. */
export type FailedCall = {
  readonly detail: string;
  readonly about?: AffectedConditionType;
  /** Whether the call is part of a deletion that has only the role left to delete. */
  readonly isProfileGone?: boolean;
};

export interface TagChange {
  readonly change: 'set' | 'remove';
  readonly keys: readonly string[];
  readonly resource: string;
}

const describeTagChange = ({ change, keys, resource }: TagChange): string =>
  `${change} the ${keys.length === 1 ? 'tag' : 'tags'} ${listed(keys.map(quoted))} of ${resource}`;

/**
 * Why a call got no usable answer. `queued`: the call waited too long in the rate limiter. `signatureTime`: AWS rejects
 * the time in the signature. `serviceError`: AWS reports an error of its own. `undecodable`: for example a proxy's
 * page.
 */
export type Unavailability = 'throttled' | 'queued' | 'signatureTime' | 'serviceError' | 'undecodable' | 'noAnswer';

const IF_THROTTLED =
  'If this lasts longer than ten minutes, look for other clients that call EKS and IAM often in this account, or set a longer --sync-period of the manager';

const UNAVAILABILITIES: Readonly<
  Record<Unavailability, { readonly problem: string; readonly remedy?: string; readonly by?: Quote['by'] }>
> = {
  throttled: { problem: "AWS is throttling the controller's requests", remedy: IF_THROTTLED, by: 'AWS' },
  queued: {
    problem:
      "AWS is throttling the controller's requests, or the controller has too many requests for this AWS account, so a request has waited too long to be sent",
    remedy: IF_THROTTLED,
  },
  signatureTime: {
    problem: 'AWS rejects the time in the signature of a request from the controller',
    remedy: "If this lasts longer than a minute, check the clock of the manager's node. The credentials stay in use",
    by: 'AWS',
  },
  serviceError: {
    problem: 'AWS gives no usable answer to a request from the controller',
    remedy: 'If this lasts longer than ten minutes, check the health of this service in the AWS Health Dashboard',
    by: 'AWS',
  },
  undecodable: { problem: 'AWS gives no usable answer to a request from the controller', remedy: IF_UNREACHABLE },
  noAnswer: { problem: 'AWS does not respond to a request from the controller', remedy: IF_UNREACHABLE },
};

/**
 * `violation` says which field has a value that AWS cannot accept, and the right form. The message contains it unless
 * AWS's own message refers to another field.
 */
type Refusal = FailedCall &
  Abandonable & {
    readonly subnets?: SubnetSource;
    readonly isBoundaryFromLimits?: boolean;
    readonly violation?: string | undefined;
  };

const SELECTORS = 'spec.selectors';
const SUBNETS = /\bsubnets?\b/i;
/** IAM calls the permissions boundary a scope if its policy does not exist. */
const BOUNDARY = /permissions ?boundary|\bscope ARN\b/i;
/** The field to correct, by a word in AWS's error message. The first match counts. */
const FIELDS_BY_WORD: readonly (readonly [word: RegExp, field: string])[] = [
  [BOUNDARY, 'spec.rolePermissionsBoundary'],
  [/\bpolicy\b/i, 'spec.roleAdditionalPolicies'],
  [/\bselectors?\b|\blabels?\b/i, SELECTORS],
  [/\btags?\b/i, 'spec.additionalTags'],
];

function describeCorrection({ detail, subnets = 'spec', isBoundaryFromLimits = false, violation }: Refusal): string {
  if (SUBNETS.test(detail)) return describeSubnetCorrection(subnets);
  if (isBoundaryFromLimits && BOUNDARY.test(detail))
    return "Create the policy that the manager's flag --require-permissions-boundary names, or fix the flag";
  const field = FIELDS_BY_WORD.find(([word]) => word.test(detail))?.[1];
  return violation !== undefined && (field === undefined || field === SELECTORS)
    ? `Fix ${violation}`
    : `Fix ${field ?? 'the spec'}, or the AWS resource that it names`;
}

type QuotaTexts = { readonly problem: string; readonly remedy: string };
/** By the IAM operation that exceeds the quota. */
const ROLE_QUOTAS: ReadonlyMap<string, QuotaTexts> = new Map([
  [
    'AttachRolePolicy',
    {
      problem: 'the IAM role has as many policies as AWS allows',
      remedy: 'Shorten spec.roleAdditionalPolicies, or detach policies that you do not need from the role',
    },
  ],
  [
    'TagRole',
    {
      problem: 'the IAM role has as many tags as AWS allows',
      remedy:
        'Shorten spec.additionalTags of this object or of its control plane, or remove tags that you do not need from the role',
    },
  ],
]);
const quotaOf = (operation: string): QuotaTexts =>
  ROLE_QUOTAS.get(operation) ?? {
    problem: 'the AWS account has reached a quota',
    remedy: 'Delete resources that you do not need, or ask AWS to raise the quota',
  };

export const AWS_CALL_REASONS = {
  AccessDenied: defineReason<FailedCall & DeniedCall & Abandonable & { readonly tags?: TagChange }>({
    ...IN_AWS,
    patience: MISSING_PATIENCE,
    problem: ({ tags }) =>
      `AWS denies a request from the controller${tags === undefined ? '' : ` to ${describeTagChange(tags)}`}`,
    remedy: (facts) =>
      remedyForDeletion(
        `${remedyForDenial(facts)}${facts.tags?.change === 'remove' ? `, or remove ${facts.tags.keys.length === 1 ? 'this tag' : 'these tags'} in AWS yourself` : ''}`,
        facts.abandonment,
        facts.isProfileGone ?? false,
      ),
    outlook: retries,
    quote: quoteAws,
  }),
  AWSUnavailable: defineReason<FailedCall & { readonly why?: Unavailability }>({
    nature: 'outage',
    poll: pollUnavailableAws,
    problem: ({ why = 'noAnswer' }) => UNAVAILABILITIES[why].problem,
    remedy: ({ why = 'noAnswer' }) => UNAVAILABILITIES[why].remedy,
    outlook: retries,
    quote: ({ why = 'noAnswer', detail: said }) => ({ by: UNAVAILABILITIES[why].by, said }),
  }),
  /**
   * `missing`: AWS says that this resource does not exist. `contradictory`: AWS's answers about this resource
   * contradict each other.
   */
  AWSError: defineReason<Partial<FailedCall> & { readonly missing?: string; readonly contradictory?: string }>({
    nature: 'retry',
    poll: pollAwsError,
    // The controller makes about five attempts in this time.
    patience: 2 * MINUTE,
    problem: ({ missing, contradictory }) =>
      contradictory !== undefined
        ? `AWS has given contradictory answers about ${contradictory} for more than two minutes`
        : missing !== undefined
          ? `AWS reports that ${missing} does not exist, although AWS returned it shortly before`
          : 'AWS returns an error for a request from the controller',
    remedy: () =>
      "If this lasts longer than ten minutes, check the manager's log at verbosity --v=4, or ask AWS Support",
    outlook: retries,
    quote: ({ detail: said }) => (said === undefined ? undefined : { by: 'AWS', said }),
  }),
  SDKRefused: defineReason<FailedCall & Abandonable & OfTarget & { readonly region: string }>({
    nature: 'human',
    poll: pollOccasionally,
    problem: ({ region }) => `the AWS SDK does not send the controller's request to region ${quoted(region)}`,
    remedy: ({ abandonment, isOfObject = false }) =>
      remedyFor(
        `Fix the manager's settings (AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT, AWS_ENDPOINT_URL, and --service-endpoints), or, if the region is wrong, ${
          isOfObject
            ? 'create another AWSFargateProfile with another region in spec.eksCluster.region'
            : 'fix spec.region of the control plane'
        }`,
        abandonment,
        'the region stays unusable',
      ),
    outlook: continues,
    quote: ({ detail: said }) => ({ by: 'The AWS SDK', said }),
  }),
  Refused: defineReason<Refusal>({
    ...IN_AWS,
    problem: () => 'AWS rejects a request from the controller',
    remedy: (facts) => remedyForDeletion(describeCorrection(facts), facts.abandonment, facts.isProfileGone ?? false),
    outlook: retries,
    quote: quoteAws,
  }),
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
  AWSQuotaExceeded: defineReason<FailedCall & { readonly operation: string }>({
    ...IN_AWS,
    problem: ({ operation }) => quotaOf(operation).problem,
    remedy: ({ operation }) => quotaOf(operation).remedy,
    outlook: retries,
    quote: quoteAws,
  }),
  Propagating: defineReason<Description & { readonly outlook?: string; readonly said?: string }>({
    nature: 'wait',
    poll: pollProgress,
    problem: ({ detail }) => detail,
    outlook: ({ outlook = retries() }) => outlook,
    quote: ({ said }) => (said === undefined ? undefined : { by: 'EKS', said }),
  }),
} as const;
