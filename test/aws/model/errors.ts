/** An error of an AWS operation, which the client receives as HTTP status, error code and message. */
export class AwsError extends Error {
  readonly code: string;
  readonly status: number;
  /** Further members that the AWS service model gives this error, e.g. `clusterName`. */
  readonly members: Readonly<Record<string, string>>;

  constructor(code: string, status: number, message: string, members: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'AwsError';
    this.code = code;
    this.status = status;
    this.members = members;
  }
}

type Members = Readonly<Record<string, string>>;

// The errors of EKS. The HTTP statuses are those of the EKS service model (2017-11-01).
export const eksErrors = {
  invalidParameter: (message: string, members?: Members) =>
    new AwsError('InvalidParameterException', 400, message, members),
  invalidRequest: (message: string, members?: Members) =>
    new AwsError('InvalidRequestException', 400, message, members),
  resourceLimit: (message: string, members?: Members) =>
    new AwsError('ResourceLimitExceededException', 400, message, members),
  resourceInUse: (message: string, members?: Members) => new AwsError('ResourceInUseException', 409, message, members),
  resourceNotFound: (message: string, members?: Members) =>
    new AwsError('ResourceNotFoundException', 404, message, members),
  accessDenied: (message: string) => new AwsError('AccessDeniedException', 403, message),
  // The tag operations of EKS use other error types than its other operations.
  badRequest: (message: string) => new AwsError('BadRequestException', 400, message),
  notFound: (message: string) => new AwsError('NotFoundException', 404, message),
  serialization: (message: string) => new AwsError('SerializationException', 400, message),
} as const;

// The errors of IAM and STS; each code is the value of the element `Code` in the query protocol.
export const iamErrors = {
  noSuchEntity: (message: string) => new AwsError('NoSuchEntity', 404, message),
  entityAlreadyExists: (message: string) => new AwsError('EntityAlreadyExists', 409, message),
  deleteConflict: (message: string) => new AwsError('DeleteConflict', 409, message),
  limitExceeded: (message: string) => new AwsError('LimitExceeded', 409, message),
  malformedPolicy: (message: string) => new AwsError('MalformedPolicyDocument', 400, message),
  unmodifiable: (message: string) => new AwsError('UnmodifiableEntity', 400, message),
  invalidInput: (message: string) => new AwsError('InvalidInput', 400, message),
  validation: (message: string) => new AwsError('ValidationError', 400, message),
  accessDenied: (message: string) => new AwsError('AccessDenied', 403, message),
} as const;

/** Returns the error with which IAM and STS refuse an input value that violates a constraint of their service model. */
export function constraintViolated(value: string | null, member: string, constraint: string): AwsError {
  const shown = value === null ? 'Value null' : `Value '${value}'`;
  return iamErrors.validation(
    `1 validation error detected: ${shown} at '${member}' failed to satisfy constraint: ${constraint}`,
  );
}
