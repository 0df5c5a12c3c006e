import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { cut, errorMessage, MAX_FACT, MAX_MESSAGE, redactCredentials } from 'controller-runtime/text';
import type { AwsFailure, AwsService } from './failure.ts';
import { describeCredentialsProblem, type CredentialsProblem } from '../credentials/credentials-problem.ts';

/** Unlike `instanceof`, these fields work even if the manager's bundle contains two copies of an SDK class. */
const SdkError = t.partial({
  name: t.string,
  message: t.string,
  $fault: t.string,
  $metadata: t.partial({ httpStatusCode: t.number, requestId: t.string }),
  /** The code of IAM or STS, without the `Exception` that the SDK appends to the names of the errors that it knows. */
  Code: t.string,
  RequestId: t.string,
});

/** In UTF-16 code units. Longer codes are cut. The codes of EKS, IAM, and STS are shorter. */
const MAX_CODE = 100;

/** The SDK's placeholders for an AWS error response without an error name or a message. */
const UNKNOWN_NAME = 'Unknown';
const UNKNOWN_MESSAGES: readonly string[] = ['UnknownError', 'Unknown'];

/** Thrown by a credential source. The SDK passes it on to the caller. */
export class NoCredentials extends Error {
  override readonly name = 'NoCredentials';
  readonly problem: CredentialsProblem;

  constructor(problem: CredentialsProblem, options?: ErrorOptions) {
    super(describeCredentialsProblem(problem), options);
    this.problem = problem;
  }
}

/**
 * How far the call got. `stopped`: this manager stopped it before it was sent. `prepared`: the SDK refused or failed to
 * build and sign the request. `sent`: the transport had received the request.
 */
export type Progress = 'stopped' | 'prepared' | 'sent';

const CODE_OF: Readonly<Record<Progress, string>> = {
  stopped: 'NotDispatched',
  prepared: 'NotPrepared',
  sent: 'NoAnswer',
};

interface AttemptedCall {
  readonly service: AwsService;
  readonly operation: string;
  readonly progress: Progress;
}

export function toAwsFailure({ service, operation, progress }: AttemptedCall, thrown: unknown): AwsFailure {
  const decoded = SdkError.decode(thrown);
  const error = E.isRight(decoded) ? decoded.right : {};
  const statusCode = error.$metadata?.httpStatusCode;
  const requestId = error.$metadata?.requestId ?? error.RequestId;
  const facts = {
    service,
    operation,
    cause: thrown,
    ...(statusCode !== undefined && { statusCode }),
    ...(requestId !== undefined && { requestId }),
  };
  if (statusCode === undefined) {
    const code = thrown instanceof NoCredentials ? 'NoCredentials' : CODE_OF[progress];
    return { ...facts, code, message: errorMessage(thrown) };
  }
  // For a proxy's HTML page, the SDK throws a parser error, which lacks `$fault` or a name.
  if (error.$fault === undefined || error.name === undefined || error.name === UNKNOWN_NAME)
    return { ...facts, code: 'Undecodable', message: `HTTP ${statusCode} with a body that is not a response of AWS` };
  const message = error.message === undefined || UNKNOWN_MESSAGES.includes(error.message) ? '' : error.message;
  return {
    ...facts,
    code: cut(error.Code ?? error.name, MAX_CODE),
    message: redactCredentials(withoutQuotedRequest(cut(message, MAX_MESSAGE)), MAX_FACT),
  };
}

/**
 * Removes the request that AWS may quote when it rejects a signature: the canonical request, which includes the session
 * token, or the Authorization header, which includes the access key ID.
 */
const withoutQuotedRequest = (message: string): string =>
  message
    .replace(/The Canonical String for this request should have been[\s\S]*/i, '')
    .replace(/(Authorization header)\b[\s\S]*/i, '$1')
    .trimEnd();
