import type { Option } from 'fp-ts/lib/Option.js';
import * as O from 'fp-ts/lib/Option.js';
import { ProfileName } from '../../api/names.ts';
import type { AwsFailure } from './failure.ts';

/**
 * What a refusal of AWS means. Told by code, and by message where one code has several meanings; the messages are those
 * of the real services, whose casing varies. IAM spells codes with and without `Exception`.
 */
const is =
  (...codes: readonly string[]) =>
  (failure: AwsFailure): boolean =>
    codes.includes(failure.code.replace(/Exception$/, ''));

const says = (pattern: RegExp) => (failure: AwsFailure) => pattern.test(failure.message);

type Predicate = (failure: AwsFailure) => boolean;
const both =
  (a: Predicate, b: Predicate): Predicate =>
  (failure) =>
    a(failure) && b(failure);
const either =
  (...all: readonly Predicate[]): Predicate =>
  (failure) =>
    all.some((each) => each(failure));

/** Profile, cluster, role, policy or attachment: the thing that was named is not there. EKS' tag calls say `NotFound`. */
export const isNotFound = is('ResourceNotFound', 'NotFound', 'NoSuchEntity');

/** EKS uses one code for a missing profile and a missing cluster. */
export const isClusterNotFound = both(is('ResourceNotFound', 'NotFound'), says(/no cluster found/i));

/** A profile or role of that name exists. */
export const isNameTaken = either(is('EntityAlreadyExists'), both(is('ResourceInUse'), says(/already exists/i)));

/** EKS changes one profile of a cluster at a time: "… currently has Fargate profile a in status CREATING". */
const SIBLING_BUSY = /currently has Fargate profile\s+"?(?<name>.+?)"?\s+in status\s+(?<status>[A-Z_]+)/i;

export interface BusySibling {
  readonly name: ProfileName;
  /** EKS' word: CREATING or DELETING. */
  readonly status: string;
}

/** Who is ahead, where EKS refused because another profile of the cluster is being created or deleted. */
export function busySibling(failure: AwsFailure): Option<BusySibling> {
  const { name, status } = (is('ResourceInUse')(failure) && SIBLING_BUSY.exec(failure.message)?.groups) || {};
  return name === undefined || status === undefined
    ? O.none
    : O.some({ name: ProfileName.of(name), status: status.toUpperCase() });
}

/** The cluster itself is being changed; DescribeCluster may call it ACTIVE all the same, for more than ten minutes. */
export const isClusterUpdating = both(is('ResourceInUse', 'InvalidRequest'), says(/update in progress/i));

/** The cluster is not there yet or no longer: "Cluster 'c' is not in ACTIVE status". */
export const isClusterNotActive = both(is('InvalidRequest', 'InvalidParameter'), says(/not in ACTIVE status/i));

/**
 * EKS does not see the role or its trust policy as wanted: IAM takes its time after a change, or the role is really wrong.
 * Only patience tells the two apart.
 */
export const isRolePropagating = either(
  both(
    is('InvalidParameter', 'InvalidRequest'),
    says(/misconfigured PodExecutionRole trust policy|could not be assumed|role\b.*(cannot be found|does not exist)/i),
  ),
  is('ResourcePropagationDelay'),
);

/** A change of a role that was read or made a moment ago: IAM's parts do not agree on it yet. A missing policy is not this. */
export const isRoleNotVisible = both(is('NoSuchEntity'), says(/role with name .* cannot be found/i));

/** A limit of the account that only a human raises or an object that goes frees. */
export const isQuotaExceeded = is('ResourceLimitExceeded', 'LimitExceeded', 'ServiceQuotaExceeded');

export const isThrottled = either(
  is(
    'Throttling',
    'Throttled',
    'TooManyRequests',
    'RequestLimitExceeded',
    'RequestThrottled',
    'BandwidthLimitExceeded',
    'PriorRequestNotComplete',
    'SlowDown',
  ),
  (failure) => failure.statusCode === 429,
);

/** The credentials themselves are wrong, gone or expired: no call with them can succeed. */
export const isCredentialsInvalid = is(
  'NoCredentials',
  'ExpiredToken',
  'TokenRefreshRequired',
  'RequestExpired',
  'InvalidClientTokenId',
  'InvalidAccessKeyId',
  'InvalidSignature',
  'InvalidIdentityToken',
  'SignatureDoesNotMatch',
  'UnrecognizedClient',
  'MissingAuthenticationToken',
  'IncompleteSignature',
  'AuthFailure',
  'NotAuthorized',
);

/** The identity may not do this. */
export const isAccessDenied: Predicate = (failure) =>
  is('AccessDenied', 'UnauthorizedOperation', 'AuthorizationError', 'Forbidden')(failure) ||
  // EKS wraps the refusal of a call that it makes on the caller's behalf.
  both(is('InvalidRequest', 'InvalidParameter'), says(/missing permissions|is not authorized to perform/i))(failure);

/** No fault of the request: again later. The effect of a mutation that failed like this is unknown. */
export const isUnavailable = either(is('NoAnswer'), (failure) => (failure.statusCode ?? 0) >= 500);

/** Stopped before it was sent: it has no effect. */
export const isNotDispatched = is('NotDispatched', 'NoCredentials');

/** Somebody else changed the same role at the same moment; the SDK does not retry it. */
export const isConcurrentModification = is('ConcurrentModification');

/** IAM keeps a role that still has something attached; the message says what. */
export const isDeleteConflict = is('DeleteConflict');

/** The request is wrong as it stands: a human has to change something. */
export const isInvalidRequest: Predicate = (failure) =>
  is(
    'InvalidParameter',
    'InvalidRequest',
    'BadRequest',
    'Client',
    'UnsupportedAvailabilityZone',
    'Validation',
    'ValidationError',
    'InvalidInput',
    'MalformedPolicyDocument',
    'NoSuchBoundary',
    'PolicyNotAttachable',
    'UnmodifiableEntity',
  )(failure) && !either(isRolePropagating, isClusterNotActive, isClusterUpdating, isAccessDenied)(failure);

/**
 * AWS' own words, then which call they answer: `Fargate Profile limit exceeded for cluster. (EKS CreateFargateProfile:
 * ResourceLimitExceededException)`. Without anything that differs from one attempt to the next, so that a condition that
 * holds it does not change while the failure stays the same.
 */
export function describeFailure(failure: AwsFailure): string {
  const words = failure.message
    .replace(/\s*\(Service: [^)]*\)/gi, '')
    .replace(/\s*Encoded authorization failure message: \S+/gi, '')
    .replace(/[\s,;(]*\b(?:x-amzn-)?request[\s-]?id\b\s*[:=]?\s*[\w-]{16,}\)?/gi, '')
    .replace(/\s+/g, ' ')
    .replace(/^AWS: no result within/, 'no answer within')
    .trim();
  const operation = `${failure.service.toUpperCase()} ${failure.operation}`;
  // A code of ours says nothing that the words do not.
  const call = isUnanswered(failure) ? operation : `${operation}: ${failure.code}`;
  return words === '' ? call : `${words} (${call})`;
}

const isUnanswered = is('NoAnswer');
