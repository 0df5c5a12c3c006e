import { AwsError } from './model/errors.ts';
import type { Service } from './model/sts/principals.ts';
import { throttled } from './model/throttle.ts';
import { type WireAnswer, type ReceivedCall, refuse } from './wire/handle.ts';

/**
 * A fault that the AWS emulator injects into an AWS call. The emulator executes the operation of the call only if the
 * name of the fault ends in `-after` or begins with `slow`:
 * - `500-before`, `500-after`: the client gets the internal error of the AWS service;
 * - `no-answer-before`, `no-answer-after`: the connection stays open without an answer;
 * - `reset`, `reset-after`: the connection is reset;
 * - `throttle`: the client gets a throttling error;
 * - `html-503`: the client gets the HTML page of a load balancer;
 * - `slow:<ms>`: only the answer is late; `slow-before:<ms>`: the execution is late, too;
 * - `error:<Type>:<message>`: the client gets this error.
 */
export type FaultKind =
  | '500-before'
  | '500-after'
  | 'no-answer-before'
  | 'no-answer-after'
  | 'reset'
  | 'reset-after'
  | 'throttle'
  | 'html-503'
  | `slow:${number}`
  | `slow-before:${number}`
  | `error:${string}:${string}`;

/**
 * A fault and a selection of the AWS calls that get it. The fault hits all calls that match the rule, unless `nth` or
 * `times` limits them.
 */
export interface FaultRule {
  readonly kind: FaultKind;
  /** The AWS operations into which the fault is injected: `CreateRole`, `iam:CreateRole`, `iam:*` or `*`. */
  readonly operation: string;
  /**
   * Injects the fault only into one AWS call: the n-th call, counted from 1, that matches the rule and arrives after
   * the test added the fault.
   */
  readonly nth?: number;
  /** The maximum number of AWS calls into which the fault is injected. */
  readonly times?: number;
  readonly accessKeyId?: string;
  /** Injects the fault only into AWS calls that are signed for this region. */
  readonly region?: string;
}

/** How a call ends for a client of the emulator: with an answer, no answer, or a reset connection. */
export type ClientOutcome =
  | { readonly kind: 'answer'; readonly answered: WireAnswer }
  | { readonly kind: 'silence' }
  | { readonly kind: 'reset' };

export interface FaultEffect {
  readonly kind: FaultKind;
  readonly when: 'before' | 'after';
  /**
   * How long the fault delays the AWS call, in milliseconds. `when` says whether the delay comes before or after the
   * execution of the operation.
   */
  readonly delayMs: number;
  /** Returns the outcome that replaces the AWS emulator's answer; undefined: the client gets the answer unchanged. */
  readonly replaceAnswer: (received: ReceivedCall) => ClientOutcome | undefined;
}

interface ArmedFault {
  readonly id: number;
  readonly rule: FaultRule;
  seen: number;
  struck: number;
}

export class Faults {
  #armed: readonly ArmedFault[] = [];
  #lastId = 0;

  add(rule: FaultRule): number {
    strikeOf(rule.kind);
    this.#lastId += 1;
    this.#armed = [...this.#armed, { id: this.#lastId, rule, seen: 0, struck: 0 }];
    return this.#lastId;
  }

  remove(id: number): void {
    this.#armed = this.#armed.filter((armed) => armed.id !== id);
  }

  clear(): void {
    this.#armed = [];
  }

  /**
   * Returns the effect of the fault that is injected into this AWS call; undefined: the call gets no fault. If several
   * faults apply, only the fault that was added first is injected. The count for `nth` includes all calls that match
   * the rule of the fault, even calls that get another fault.
   */
  take(received: ReceivedCall): FaultEffect | undefined {
    let strike: FaultEffect | undefined;
    for (const armed of this.#armed) {
      if (!matches(armed.rule, received)) continue;
      armed.seen += 1;
      if (strike !== undefined || !isDue(armed)) continue;
      armed.struck += 1;
      strike = strikeOf(armed.rule.kind);
    }
    return strike;
  }
}

function matches(rule: FaultRule, { service, operation, principal, scope }: ReceivedCall): boolean {
  const named = [operation, `${service}:${operation}`, `${service}:*`, '*'].includes(rule.operation);
  const caller = rule.accessKeyId === undefined || rule.accessKeyId === principal?.accessKeyId;
  const here = rule.region === undefined || rule.region === scope?.region;
  return named && caller && here;
}

function isDue({ rule, seen, struck }: ArmedFault): boolean {
  if (rule.times !== undefined && struck >= rule.times) return false;
  return rule.nth === undefined || seen === rule.nth;
}

function internalError(service: Service): AwsError {
  if (service === 'eks') return new AwsError('ServerException', 500, 'Internal server error');
  if (service === 'iam') return new AwsError('ServiceFailure', 500, 'The request processing has failed.');
  return new AwsError('InternalFailure', 500, 'The request processing has failed.');
}

// The HTTP statuses of the errors that a test injects with `error:<Type>:<message>`. Error types that are not in this
// list get status 400, as most AWS errors do.
const statuses: Readonly<Record<string, number>> = {
  AccessDenied: 403,
  AccessDeniedException: 403,
  ExpiredToken: 403,
  ExpiredTokenException: 403,
  InvalidClientTokenId: 403,
  InvalidSignatureException: 403,
  SignatureDoesNotMatch: 403,
  UnrecognizedClientException: 403,
  NoSuchEntity: 404,
  NotFoundException: 404,
  ResourceNotFoundException: 404,
  ConcurrentModification: 409,
  DeleteConflict: 409,
  EntityAlreadyExists: 409,
  LimitExceeded: 409,
  ResourceInUseException: 409,
  ResourcePropagationDelayException: 428,
  ThrottlingException: 429,
  TooManyRequestsException: 429,
  InternalFailure: 500,
  ServerException: 500,
  ServiceFailure: 500,
  ServiceUnavailable: 503,
  ServiceUnavailableException: 503,
};

function answer(answered: WireAnswer): ClientOutcome {
  return { kind: 'answer', answered };
}

function errorStrike(kind: FaultKind, when: 'before' | 'after', error: (service: Service) => AwsError): FaultEffect {
  return { kind, when, delayMs: 0, replaceAnswer: (received) => answer(refuse(received, error(received.service))) };
}

function htmlPage(): WireAnswer {
  const body = '<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>';
  return { response: { status: 503, headers: { 'content-type': 'text/html' }, body } };
}

function strikeOf(kind: FaultKind): FaultEffect {
  const plain = (when: 'before' | 'after', replaceAnswer: FaultEffect['replaceAnswer']): FaultEffect => ({
    kind,
    when,
    delayMs: 0,
    replaceAnswer,
  });
  switch (kind) {
    case '500-before':
      return errorStrike(kind, 'before', internalError);
    case '500-after':
      return errorStrike(kind, 'after', internalError);
    case 'no-answer-before':
      return plain('before', () => ({ kind: 'silence' }));
    case 'no-answer-after':
      return plain('after', () => ({ kind: 'silence' }));
    case 'reset':
      return plain('before', () => ({ kind: 'reset' }));
    case 'reset-after':
      return plain('after', () => ({ kind: 'reset' }));
    case 'throttle':
      return errorStrike(kind, 'before', throttled);
    case 'html-503':
      return plain('before', () => answer(htmlPage()));
    default:
      return parameterised(kind);
  }
}

function parameterised(kind: `slow:${number}` | `slow-before:${number}` | `error:${string}:${string}`): FaultEffect {
  const error = /^error:([A-Za-z]+):(.*)$/s.exec(kind);
  if (error !== null) {
    const [, code = '', message = ''] = error;
    return errorStrike(kind, 'before', () => new AwsError(code, statuses[code] ?? 400, message));
  }
  const slow = /^slow(-before)?:(\d+)$/.exec(kind);
  if (slow === null) throw new Error(`unknown fault ${kind}`);
  return {
    kind,
    when: slow[1] === undefined ? 'after' : 'before',
    delayMs: Number(slow[2]),
    replaceAnswer: () => undefined,
  };
}
