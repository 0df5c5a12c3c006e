import { ProfileName } from '../../../api/names.ts';
import type { AwsFailure } from './failure.ts';

/**
 * Predicates for failed AWS calls. A predicate compares the error code, and also the message when AWS uses one error
 * code for several problems. The messages are those of the real services, whose casing varies. IAM spells error codes
 * with and without `Exception`.
 */
const hasCode =
  (...codes: readonly string[]) =>
  (failure: AwsFailure): boolean =>
    codes.includes(failure.code.replace(/Exception$/, ''));

const hasMessage = (pattern: RegExp) => (failure: AwsFailure) => pattern.test(failure.message);

/**
 * Whether the error message has a match of `first`, and behind it a match of `second`. One pattern for both, with `.*`
 * between them, would search the rest of a long message again for each match of the first half.
 */
const hasInOrder =
  (first: RegExp, second: RegExp) =>
  ({ message }: AwsFailure): boolean => {
    const at = message.search(first);
    return at !== -1 && second.test(message.slice(at));
  };

type FailurePredicate = (failure: AwsFailure) => boolean;
const allOf =
  (a: FailurePredicate, b: FailurePredicate): FailurePredicate =>
  (failure) =>
    a(failure) && b(failure);
const anyOf =
  (...all: readonly FailurePredicate[]): FailurePredicate =>
  (failure) =>
    all.some((each) => each(failure));

/**
 * True if AWS says that the requested profile, cluster, role, policy or attachment does not exist. EKS's tag calls use
 * the code `NotFound`.
 */
export const isNotFound = hasCode('ResourceNotFound', 'NotFound', 'NoSuchEntity');

/**
 * True if EKS says that the EKS cluster does not exist. EKS uses the same error code for a missing profile, with
 * another message.
 */
export const isClusterNotFound = allOf(hasCode('ResourceNotFound', 'NotFound'), hasMessage(/no cluster found/i));

/** True if AWS says that a profile or role with the requested name exists already. */
export const isNameTaken = anyOf(
  hasCode('EntityAlreadyExists'),
  allOf(hasCode('ResourceInUse'), hasMessage(/already exists/i)),
);

/**
 * True if CreateAccessEntry finds an access entry of the same principal: "… is already in use on this cluster". Only for
 * failures of CreateAccessEntry, because EKS has similar messages for Fargate profiles.
 */
export const isEntryExisting = allOf(hasCode('ResourceInUse'), hasMessage(/already (in use|exists)/i));

/**
 * True if EKS does not find the role of a new access entry: "The specified principalArn is invalid: invalid principal".
 * The role may be so new that it has not propagated from IAM to EKS yet. Only for failures of CreateAccessEntry, because
 * EKS has similar messages for Fargate profiles.
 */
export const isInvalidPrincipal = allOf(hasCode('InvalidParameter'), hasMessage(/principal/i));

/**
 * EKS's message when EKS rejects a change because it is creating or deleting another profile of the cluster: "…
 * currently has Fargate profile a in status CREATING".
 */
const BUSY_SIBLING_MESSAGE = /currently has Fargate profile\s+"?(?<name>[^\s"]+)"?\s+in status\s+(?<status>[A-Z_]+)/i;

export interface BusySibling {
  readonly name: ProfileName;
  /** The status of the profile in EKS: CREATING or DELETING. */
  readonly status: string;
}

/**
 * Returns the profile that EKS is creating or deleting, if EKS has rejected a change for this reason; otherwise
 * `undefined`.
 */
export function busySibling(failure: AwsFailure): BusySibling | undefined {
  const { name, status } =
    (hasCode('ResourceInUse')(failure) && BUSY_SIBLING_MESSAGE.exec(failure.message)?.groups) || {};
  return name === undefined || status === undefined
    ? undefined
    : { name: ProfileName.of(name), status: status.toUpperCase() };
}

/**
 * True if EKS rejects a change because EKS is updating the cluster. During such an update DescribeCluster may report
 * the status ACTIVE for more than ten minutes.
 */
export const isClusterUpdating = allOf(hasCode('ResourceInUse', 'InvalidRequest'), hasMessage(/update in progress/i));

/**
 * True if EKS rejects a change because the cluster is being created or deleted: "Cluster 'c' is not in ACTIVE status".
 */
export const isClusterNotActive = allOf(
  hasCode('InvalidRequest', 'InvalidParameter'),
  hasMessage(/not in ACTIVE status/i),
);

/**
 * True if EKS rejects the pod execution role or its trust policy. Either the latest change in IAM has not propagated to
 * EKS yet, or the role is wrong. Most of these errors mean either, so only a later attempt can distinguish them.
 */
export const isRoleRejected = anyOf(
  allOf(
    hasCode('InvalidParameter', 'InvalidRequest'),
    anyOf(
      hasMessage(/misconfigured PodExecutionRole trust policy|could not be assumed/i),
      hasInOrder(/role\b/i, /cannot be found|does not exist/i),
    ),
  ),
  hasCode('ResourcePropagationDelay'),
);

/**
 * True if IAM does not find a role, even a role that IAM has just created or returned (eventual consistency). For a
 * policy that IAM does not find, the result is false.
 */
export const isRoleNotVisible = allOf(hasCode('NoSuchEntity'), hasInOrder(/role with name /i, / cannot be found/i));

/** True if a quota of the AWS account is used up. The user must get a higher quota or delete another resource. */
export const isQuotaExceeded = hasCode('ResourceLimitExceeded', 'LimitExceeded', 'ServiceQuotaExceeded');

export const isThrottled = anyOf(
  hasCode(
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

/** The error codes of EKS, IAM and STS for credentials that a region does not know. */
const isUnknownToRegion = hasCode('InvalidClientTokenId', 'UnrecognizedClient');

/**
 * True if a region rejects credentials that AWS accepts in another region: the account has not enabled the region, or
 * the region belongs to another partition.
 */
export const isRegionNotEnabled: FailurePredicate = (failure) =>
  failure.acceptedIn !== undefined && isUnknownToRegion(failure);

/**
 * True if AWS rejects the time in the signature of a request: "Signature expired: … is now earlier than …", or
 * "Signature not yet current". The services use several error codes for this, most of them also for wrong credentials.
 * The clock of the manager's node is then wrong, or the request was on its way for minutes; the credentials may be fine.
 */
export const isSignatureTimeRejected = anyOf(
  hasCode('RequestExpired', 'RequestTimeTooSkewed', 'RequestInTheFuture'),
  // Only the beginning of the message counts, because AWS may repeat the text of a user later in a message.
  hasMessage(/^signature (?:expired|not yet current)\b/i),
);

/** True if the AWS credentials are missing, wrong, deleted or expired, so that every call with them fails. */
export const isCredentialsInvalid: FailurePredicate = (failure) =>
  isCredentialsRejected(failure) && !isRegionNotEnabled(failure) && !isSignatureTimeRejected(failure);

const isCredentialsRejected = hasCode(
  'NoCredentials',
  'ExpiredToken',
  'TokenRefreshRequired',
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

/** True if the AWS identity lacks the permission for the call. */
export const isAccessDenied: FailurePredicate = (failure) =>
  !isSignatureTimeRejected(failure) &&
  (hasCode('AccessDenied', 'UnauthorizedOperation', 'AuthorizationError', 'Forbidden')(failure) ||
    // EKS also makes calls on the caller's behalf. If the caller lacks the permission for such a call, EKS reports an
    // invalid request or parameter.
    allOf(
      hasCode('InvalidRequest', 'InvalidParameter'),
      hasMessage(/missing permissions|is not authorized to perform/i),
    )(failure));

/**
 * True if AWS failed or did not answer, so that a later attempt of the same call can succeed. A mutation may or may not
 * have taken effect.
 */
export const isUnavailable = anyOf(hasCode('NoAnswer'), (failure) => (failure.statusCode ?? 0) >= 500);

/**
 * True if AWS answers the call with an HTTP status of 4xx, for example because a permission is missing. False for
 * invalid credentials, for a rejected time in the signature, for throttling, and for a response that the manager cannot
 * decode, such as the page of a proxy.
 */
export const isRefused: FailurePredicate = (failure) => {
  const { code, statusCode = 0 } = failure;
  const isAnswer = code !== 'Undecodable' && statusCode >= 400 && statusCode < 500;
  return isAnswer && !anyOf(isThrottled, isCredentialsInvalid, isSignatureTimeRejected, isNotDispatched)(failure);
};

/** True if the AWS call was stopped before it was sent, so that it has no effect. */
export const isNotDispatched = hasCode('NotDispatched', 'NoCredentials');

/**
 * True if the SDK refused or failed to build and sign the request, so that it has no effect. Unless the signing took
 * too long, another attempt fails too, until a user corrects the region or the settings of the manager.
 */
export const isNotPrepared = hasCode('NotPrepared');

/** True if another client changed the same IAM role at the same time. The SDK does not retry this error. */
export const isConcurrentModification = hasCode('ConcurrentModification');

/**
 * True if IAM refuses to delete a role that still has a policy or an instance profile. IAM's message tells which of
 * them.
 */
export const isDeleteConflict = hasCode('DeleteConflict');

/** True if AWS rejects the request as invalid: the user has to change the spec or the AWS resources. */
export const isInvalidRequest: FailurePredicate = (failure) =>
  hasCode(
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
  )(failure) && !anyOf(isRoleRejected, isClusterNotActive, isClusterUpdating, isAccessDenied)(failure);

/**
 * Describes a failed AWS call by AWS's message and the operation, e.g. `Fargate Profile limit exceeded for cluster.
 * (EKS CreateFargateProfile: ResourceLimitExceededException)`. Values such as request IDs and times are removed, so that
 * a condition with this text does not change while the failure stays the same.
 */
export function describeFailure(failure: AwsFailure): string {
  const words = failure.message
    .replace(/\s+/g, ' ')
    .replace(/ ?\(Service: [^()]*\)/gi, '')
    .replace(/ ?Encoded authorization failure message: \S+/gi, '')
    .replace(/(?<![ ,;(])[ ,;(]*\b(?:x-amzn-)?request[ -]?id\b ?[:=]? ?[\w-]{16,}\)?/gi, '')
    .replace(/^AWS: no result within/, 'no answer within')
    .replace(/^(signature (?:expired|not yet current))\b.*/i, '$1')
    .trim();
  const operation = `${failure.service.toUpperCase()} ${failure.operation}`;
  // The error codes NoAnswer, NotPrepared and NotDispatched of this manager are omitted: they would only repeat the
  // message.
  const call = isOwnCode(failure) ? operation : `${operation}: ${failure.code}`;
  return `${words === '' ? 'no reason given' : words} (${call})`;
}

const isOwnCode = hasCode('NoAnswer', 'NotPrepared', 'NotDispatched');
