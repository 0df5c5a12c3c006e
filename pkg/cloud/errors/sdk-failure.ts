import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { MAX_FACT, cut } from '../../../api/text.ts';
import { errorMessage } from '../../env/error-text.ts';
import type { AwsFailure, AwsService } from './failure.ts';
import type { CredentialsProblem } from '../credentials/credentials-problem.ts';

/**
 * The fields of the SDK's errors that the manager reads. They replace `instanceof`: the bundle of the manager can
 * contain two copies of a class of the SDK, and an error of one copy is no instance of the other.
 */
const SdkError = t.partial({
  name: t.string,
  message: t.string,
  $fault: t.string,
  $metadata: t.partial({ httpStatusCode: t.number, requestId: t.string }),
  /**
   * The error code in a response of IAM or STS. The `name` of an error can differ from it: the SDK appends `Exception`
   * to the names of the errors that it knows.
   */
  Code: t.string,
  RequestId: t.string,
});

/** The maximum length of an error code, in UTF-16 code units. The codes of EKS, IAM and STS are shorter. */
const MAX_CODE = 100;

/** The SDK's placeholders for an error response of AWS that has no error name or no message. */
const UNKNOWN_NAME = 'Unknown';
const UNKNOWN_MESSAGES: readonly string[] = ['UnknownError', 'Unknown'];

/**
 * The error that a source of AWS credentials throws when there are no usable credentials. The SDK passes this error on
 * to the caller.
 */
export class NoCredentials extends Error {
  override readonly name = 'NoCredentials';
  readonly problem: CredentialsProblem;

  constructor(problem: CredentialsProblem, options?: ErrorOptions) {
    super(problem.message, options);
    this.problem = problem;
  }
}

/**
 * How far an AWS call had come when it threw an error. `stopped`: this manager stopped the call before it was sent.
 * `prepared`: the SDK refused or failed to build and sign the request. `sent`: the transport had received the request.
 */
export type Progress = 'stopped' | 'prepared' | 'sent';

const CODE_OF: Readonly<Record<Progress, string>> = {
  stopped: 'NotDispatched',
  prepared: 'NotPrepared',
  sent: 'NoAnswer',
};

/** An AWS call that has thrown an error. */
export interface AttemptedCall {
  readonly service: AwsService;
  readonly operation: string;
  readonly progress: Progress;
}

/** Converts an error of the SDK or the transport into the failure of the AWS call. */
export function toAwsFailure({ service, operation, progress }: AttemptedCall, thrown: unknown): AwsFailure {
  const decoded = SdkError.decode(thrown);
  const error = E.isRight(decoded) ? decoded.right : {};
  const statusCode = error.$metadata?.httpStatusCode;
  const requestId = error.$metadata?.requestId ?? error.RequestId;
  const facts = {
    service,
    operation,
    cause: thrown,
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(requestId === undefined ? {} : { requestId }),
  };
  if (statusCode === undefined) {
    const code = thrown instanceof NoCredentials ? 'NoCredentials' : CODE_OF[progress];
    return { ...facts, code, message: errorMessage(thrown) };
  }
  // If the response is the page of a proxy instead of a response of AWS, the SDK throws an error of its parser, which
  // has no `$fault` or no name.
  if (error.$fault === undefined || error.name === undefined || error.name === UNKNOWN_NAME) {
    return { ...facts, code: 'Undecodable', message: `HTTP ${statusCode} with a body that is not a response of AWS` };
  }
  const message = error.message === undefined || UNKNOWN_MESSAGES.includes(error.message) ? '' : error.message;
  return {
    ...facts,
    code: cut(error.Code ?? error.name, MAX_CODE),
    message: redactCredentials(cut(message, MAX_FACT)),
  };
}

/**
 * Removes credentials from an error message of AWS. When AWS rejects a signature, the message may quote the canonical
 * request, which includes the session token, or the Authorization header, which includes the access key ID.
 */
const redactCredentials = (message: string): string =>
  message
    .replace(/The Canonical String for this request should have been[\s\S]*/i, '')
    .replace(/(Authorization header)\b[\s\S]*/i, '$1')
    .trimEnd();
