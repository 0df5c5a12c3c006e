import { AwsError } from './model/errors.ts';
import type { Service } from './model/principals.ts';
import { throttled } from './model/throttle.ts';
import { refuse } from './wire/handle.ts';
import type { Answered, Received } from './wire/handle.ts';

/**
 * What goes wrong with a call:
 * - `500-before`, `500-after`: the service's internal error, without and with the effect;
 * - `no-answer-before`, `no-answer-after`: the connection stays open and silent;
 * - `reset` (before the effect), `reset-after`: the connection is reset;
 * - `throttle`: refused as too fast, no effect;
 * - `html-503`: a load balancer's page, no effect;
 * - `garbage-after`: 200 with a body that is neither JSON nor XML;
 * - `stall-after`: headers and half of the answer, then nothing;
 * - `slow:<ms>`: the effect at once, the answer late; `slow-before:<ms>`: the effect late too;
 * - `error:<Type>:<message>`: that error, no effect.
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
  | 'garbage-after'
  | 'stall-after'
  | `slow:${number}`
  | `slow-before:${number}`
  | `error:${string}:${string}`;

/** Which calls a fault meets. Without `nth` and `every`: all that match. */
export interface FaultRule {
  readonly kind: FaultKind;
  /** `CreateRole`, `iam:CreateRole`, `iam:*` or `*`. */
  readonly operation: string;
  /** Only the n-th matching call since the rule was added, from 1. */
  readonly nth?: number;
  /** Only each k-th matching call. */
  readonly every?: number;
  /** How often it strikes at most. */
  readonly times?: number;
  readonly accessKeyId?: string;
  /** Members of the input that must be equal, e.g. `{ clusterName: 'a' }`. */
  readonly where?: Readonly<Record<string, string>>;
}

/** What the client gets to see. */
export type Exchange =
  | { readonly kind: 'answer'; readonly answered: Answered }
  | { readonly kind: 'silence' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'stall'; readonly answered: Answered };

export interface Strike {
  readonly kind: FaultKind;
  readonly when: 'before' | 'after';
  /** How long the call is held up at that point. */
  readonly delayMs: number;
  /** What replaces the answer; undefined: nothing, the call was only slow. */
  readonly exchange: (received: Received, answered: Answered | undefined) => Exchange | undefined;
}

interface Armed {
  readonly id: number;
  readonly rule: FaultRule;
  seen: number;
  struck: number;
}

export class Faults {
  #armed: readonly Armed[] = [];
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

  list(): readonly { readonly id: number; readonly rule: FaultRule; readonly seen: number; readonly struck: number }[] {
    return this.#armed.map((armed) => ({ ...armed }));
  }

  /** The fault that this call meets. Every matching rule counts the call; the first due one strikes. */
  take(received: Received): Strike | undefined {
    let strike: Strike | undefined;
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

function matches(rule: FaultRule, { service, operation, input, principal }: Received): boolean {
  const named = [operation, `${service}:${operation}`, `${service}:*`, '*'].includes(rule.operation);
  const caller = rule.accessKeyId === undefined || rule.accessKeyId === principal?.accessKeyId;
  return named && caller && Object.entries(rule.where ?? {}).every(([key, value]) => input[key] === value);
}

function isDue({ rule, seen, struck }: Armed): boolean {
  if (rule.times !== undefined && struck >= rule.times) return false;
  if (rule.nth !== undefined) return seen === rule.nth;
  return rule.every === undefined || seen % rule.every === 0;
}

function internalError(service: Service): AwsError {
  if (service === 'eks') return new AwsError('ServerException', 500, 'Internal server error');
  if (service === 'iam') return new AwsError('ServiceFailure', 500, 'The request processing has failed.');
  return new AwsError('InternalFailure', 500, 'The request processing has failed.');
}

// Statuses of error types that tests inject by name; what is not here answers 400, as most do.
const statuses: Readonly<Record<string, number>> = {
  AccessDenied: 403,
  AccessDeniedException: 403,
  ExpiredToken: 403,
  ExpiredTokenException: 403,
  InvalidClientTokenId: 403,
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

function answer(answered: Answered): Exchange {
  return { kind: 'answer', answered };
}

function errorStrike(kind: FaultKind, when: 'before' | 'after', error: (service: Service) => AwsError): Strike {
  return { kind, when, delayMs: 0, exchange: (received) => answer(refuse(received, error(received.service))) };
}

function garbled({ requestId }: Received): Answered {
  return { response: { status: 200, headers: { 'x-amzn-requestid': requestId }, body: '\u0000<not{json' } };
}

function htmlPage(): Answered {
  const body = '<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>';
  return { response: { status: 503, headers: { 'content-type': 'text/html' }, body } };
}

function strikeOf(kind: FaultKind): Strike {
  const plain = (when: 'before' | 'after', exchange: Strike['exchange']): Strike => ({
    kind,
    when,
    delayMs: 0,
    exchange,
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
    case 'garbage-after':
      return plain('after', (received) => answer(garbled(received)));
    case 'stall-after':
      return plain('after', (_, answered) => (answered === undefined ? undefined : { kind: 'stall', answered }));
    default:
      return parameterised(kind);
  }
}

function parameterised(kind: `slow:${number}` | `slow-before:${number}` | `error:${string}:${string}`): Strike {
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
    exchange: () => undefined,
  };
}
