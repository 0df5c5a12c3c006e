import { ProfileName } from '../../../api/names.ts';
import type { AwsFailure } from './failure.ts';

/**
 * The predicates below compare the error code, and also the message if AWS uses one code for several problems. The
 * messages are those of the real services, whose casing varies. IAM spells error codes with and without `Exception`.
 */
const hasCode =
  (...codes: readonly string[]) =>
  (failure: AwsFailure): boolean =>
    codes.includes(failure.code.replace(/Exception$/, ''));

const hasMessage = (pattern: RegExp) => (failure: AwsFailure) => pattern.test(failure.message);

/**
 * Whether `second` matches at or after the first match of `first`. A single `first.*second` pattern would rescan the
 * rest of a long message for every match of `first`.
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

/** A profile, cluster, role, policy, or attachment does not exist. EKS's tag calls use the code `NotFound`. */
export const isNotFound = hasCode('ResourceNotFound', 'NotFound', 'NoSuchEntity');

/** EKS uses the same error code for a missing profile, with a different message. */
export const isClusterNotFound = allOf(hasCode('ResourceNotFound', 'NotFound'), hasMessage(/no cluster found/i));

export const isNameTaken = anyOf(
  hasCode('EntityAlreadyExists'),
  allOf(hasCode('ResourceInUse'), hasMessage(/already exists/i)),
);

/** "… is already in use on this cluster". Only for CreateAccessEntry: EKS has similar messages for Fargate profiles. */
export const isEntryExisting = allOf(hasCode('ResourceInUse'), hasMessage(/already (in use|exists)/i));

/**
 * "The specified principalArn is invalid: invalid principal": a role that may be too new for EKS. Only for
 * CreateAccessEntry, because EKS has similar messages for Fargate profiles.
 */
export const isInvalidPrincipal = allOf(hasCode('InvalidParameter'), hasMessage(/principal/i));

/** "… currently has Fargate profile a in status CREATING": EKS creates or deletes another profile of the cluster. */
const BUSY_SIBLING_MESSAGE = /currently has Fargate profile\s+"?(?<name>[^\s"]+)"?\s+in status\s+(?<status>[A-Z_]+)/i;

interface BusySibling {
  readonly name: ProfileName;
  /** CREATING or DELETING. */
  readonly status: string;
}

export function busySibling(failure: AwsFailure): BusySibling | undefined {
  const { name, status } =
    (hasCode('ResourceInUse')(failure) && BUSY_SIBLING_MESSAGE.exec(failure.message)?.groups) || {};
  return name === undefined || status === undefined
    ? undefined
    : { name: ProfileName.of(name), status: status.toUpperCase() };
}

/**
 * EKS is updating the cluster. Only this error shows it: during an update, DescribeCluster may report the status ACTIVE
 * for more than ten minutes.
 */
export const isClusterUpdating = allOf(hasCode('ResourceInUse', 'InvalidRequest'), hasMessage(/update in progress/i));

/** The cluster is being created or deleted: "Cluster 'c' is not in ACTIVE status". */
export const isClusterNotActive = allOf(
  hasCode('InvalidRequest', 'InvalidParameter'),
  hasMessage(/not in ACTIVE status/i),
);

/**
 * EKS rejects the pod execution role: the latest change in IAM has not propagated yet, or the role or its trust policy
 * is wrong. For most of these errors, only a later attempt shows which.
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

/** IAM does not find a role that it may have just created (eventual consistency). False for a missing policy. */
export const isRoleNotVisible = allOf(hasCode('NoSuchEntity'), hasInOrder(/role with name /i, / cannot be found/i));

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

const isUnknownToRegion = hasCode('InvalidClientTokenId', 'UnrecognizedClient');

/** AWS accepts the credentials in another region: the call's region is not enabled, or is in another partition. */
export const isRegionNotEnabled: FailurePredicate = (failure) =>
  failure.acceptedIn !== undefined && isUnknownToRegion(failure);

/**
 * "Signature expired: … is now earlier than …" or "Signature not yet current", under several error codes, most of which
 * AWS also uses for wrong credentials. The clock of the manager's node is wrong, or the request took minutes to arrive;
 * the credentials may be fine.
 */
export const isSignatureTimeRejected = anyOf(
  hasCode('RequestExpired', 'RequestTimeTooSkewed', 'RequestInTheFuture'),
  // Only the beginning of the message counts, because AWS may repeat a user's text later in the message.
  hasMessage(/^signature (?:expired|not yet current)\b/i),
);

/** AWS rejects the credentials themselves, so every call with them fails. */
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

export const isAccessDenied: FailurePredicate = (failure) =>
  !isSignatureTimeRejected(failure) &&
  (hasCode('AccessDenied', 'UnauthorizedOperation', 'AuthorizationError', 'Forbidden')(failure) ||
    // EKS also makes calls on the caller's behalf. If AWS denies one of those, EKS returns InvalidRequest or
    // InvalidParameter.
    allOf(
      hasCode('InvalidRequest', 'InvalidParameter'),
      hasMessage(/missing permissions|is not authorized to perform/i),
    )(failure));

/** AWS did not answer, or answered with 5xx. A later attempt can succeed. A mutation may have taken effect. */
export const isUnavailable = anyOf(hasCode('NoAnswer'), (failure) => (failure.statusCode ?? 0) >= 500);

/**
 * AWS answers with 4xx, for example because a permission is missing. False for invalid credentials, a rejected time in
 * the signature, throttling, and a response that cannot be decoded, such as the page of a proxy.
 */
export const isRefused: FailurePredicate = (failure) => {
  const { code, statusCode = 0 } = failure;
  const isAnswer = code !== 'Undecodable' && statusCode >= 400 && statusCode < 500;
  return isAnswer && !anyOf(isThrottled, isCredentialsInvalid, isSignatureTimeRejected, isNotDispatched)(failure);
};

/** The call was not sent, because this manager stopped it or has no credentials. It has had no effect. */
export const isNotDispatched = hasCode('NotDispatched', 'NoCredentials');

/**
 * The request could not be built or signed. Unless signing took too long, another attempt also fails, until a user
 * corrects the region or the settings.
 */
export const isNotPrepared = hasCode('NotPrepared');

/** IAM is processing another change of the same resource. The SDK does not retry this error. */
export const isConcurrentModification = hasCode('ConcurrentModification');

/** The role still has a policy or an instance profile; IAM's message says which. */
export const isDeleteConflict = hasCode('DeleteConflict');

/** The user has to change the spec or the AWS resources. */
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
 * Describes a failure for a condition. Omits values such as request IDs and times, because the condition must not
 * change while the failure stays the same.
 */
export function describeFailure(failure: AwsFailure): string {
  const words = failure.message
    .replace(/\s+/g, ' ')
    .replace(/ ?\(Service: [^()]*\)/gi, '')
    .replace(/ ?Encoded authorization failure message: \S+/gi, '')
    .replace(/(?<![ ,;(])[ ,;(]*\b(?:x-amzn-)?request[ -]?id\b ?[:=]? ?[\w-]{16,}\)?/gi, '')
    .replace(/^AWS: no result within/, 'no answer within')
    .replace(/^(signature (?:expired|not yet current))\b.*/i, withoutTimes)
    .trim();
  const operation = `${failure.service.toUpperCase()} ${failure.operation}`;
  // Omits the error codes that this manager sets, because they would only repeat the message.
  const call = isOwnCode(failure) ? operation : `${operation}: ${failure.code}`;
  return `${words === '' ? 'no reason given' : words} (${call})`;
}

/** The times in "Signature expired: … is now earlier than … (… - 5 min.)" change with each request. */
function withoutTimes(words: string, what: string): string {
  const minutes = /\b\d{1,4} min\b/.exec(words)?.[0];
  return minutes === undefined ? what : `${what} (${minutes}.)`;
}

const isOwnCode = hasCode('NoAnswer', 'NotPrepared', 'NotDispatched');
