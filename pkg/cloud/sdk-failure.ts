import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { errorMessage } from '../env/error-text.ts';
import type { AwsFailure, AwsService } from './failure.ts';
import type { CredentialsProblem } from './types.ts';

/** What the SDK throws, as far as it is read. Told by its fields: bundled, its classes have other identities. */
const Thrown = t.partial({
  name: t.string,
  message: t.string,
  $fault: t.string,
  $metadata: t.partial({ httpStatusCode: t.number, requestId: t.string }),
  /** IAM and STS: the code as it came over the wire. The name has `Exception` added where the SDK knows the error. */
  Code: t.string,
  RequestId: t.string,
});

/** The SDK's words for an error answer without a name or without a message. */
const NAMELESS = 'Unknown';
const SPEECHLESS: readonly string[] = ['UnknownError', 'Unknown'];

/** The credentials could not be had; thrown by whoever gives them to the SDK. */
export class NoCredentials extends Error {
  override readonly name = 'NoCredentials';
  readonly problem: CredentialsProblem;

  constructor(problem: CredentialsProblem, options?: ErrorOptions) {
    super(problem.message, options);
    this.problem = problem;
  }
}

/** A failure to throw, for the few places where a call is not handed on as a value. */
export interface Sent {
  readonly service: AwsService;
  readonly operation: string;
  /** Whether the request had been handed to the transport. */
  readonly dispatched: boolean;
}

/** The failure that something thrown by the SDK, or by the transport through it, stands for. */
export function toFailure({ service, operation, dispatched }: Sent, thrown: unknown): AwsFailure {
  const decoded = Thrown.decode(thrown);
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
    const code = thrown instanceof NoCredentials ? 'NoCredentials' : dispatched ? 'NoAnswer' : 'NotDispatched';
    return { ...facts, code, message: errorMessage(thrown) };
  }
  // A proxy's page instead of an answer: the SDK then throws its parser's error, which has no fault, or knows no name.
  if (error.$fault === undefined || error.name === undefined || error.name === NAMELESS) {
    return { ...facts, code: 'Undecodable', message: `HTTP ${statusCode} with a body that is no answer of AWS` };
  }
  const message = error.message === undefined || SPEECHLESS.includes(error.message) ? '' : error.message;
  return { ...facts, code: error.Code ?? error.name, message: withoutCredentials(message) };
}

/**
 * Where AWS finds a signature wrong it may quote what should have been signed, session token included, or the header that
 * carries the access key's id.
 */
const withoutCredentials = (message: string): string =>
  message
    .replace(/\s*The Canonical String for this request should have been[\s\S]*/i, '')
    .replace(/(Authorization header)\b[\s\S]*/i, '$1');
