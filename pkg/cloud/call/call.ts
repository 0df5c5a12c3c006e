import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { DeadlineExceeded, untilAborted, withDeadline } from 'controller-runtime/async';
import { type Clock, isPanic, type Ms, type Timer } from 'controller-runtime/env';
import type { Logger } from 'controller-runtime/log';
import { decode, describeProblems } from 'controller-runtime/schema';
import { isThrottled } from '../errors/error-codes.ts';
import type { AwsFailure, AwsService } from '../errors/failure.ts';
import { rateLimitFor, type RateLimiter, type Permit, type CallKind, type ReadPriority } from './rate-limiter.ts';
import type { AwsMetrics } from '../metrics.ts';
import { toAwsFailure, type Progress } from '../errors/sdk-failure.ts';
import { withDispatchOptions } from '../transport/sdk-handler.ts';

export interface CallEnv {
  readonly clock: Clock;
  readonly limiter: RateLimiter;
  readonly metrics: AwsMetrics;
}

export interface CallContext {
  /**
   * The key of a rate limit is this prefix, the AWS service, and the kind of call. The prefix contains the account and
   * region for EKS, the account for IAM, which has one endpoint for all regions, and the credential source and region
   * for STS.
   */
  readonly rateLimitKeyPrefix: string;
  readonly signal: AbortSignal;
  /** In ms. How long a mutation may take from now. At 0 or less, it is not sent. Called right before each mutation. */
  readonly mutationBudget: () => Ms;
  readonly readPriority: () => ReadPriority;
  readonly logger: Logger;
  readonly onDate?: (date: string) => void;
  /** Adds facts to a failure, for example a different region in which AWS accepts the rejected credentials. */
  readonly examine?: (failure: AwsFailure) => Promise<AwsFailure>;
}

export interface CallRequest<A> {
  readonly operation: string;
  readonly kind: CallKind;
  /** Must use an SDK client. Runs inside `withDispatchOptions`, which that client's request handler needs. */
  readonly send: () => Promise<unknown>;
  readonly response: t.Decoder<unknown, A>;
}

export type Call<A> = Promise<E.Either<AwsFailure, A>>;

/** Creates every AWS call except those of the SDK's credential providers. */
export type CallFactory = <A>(request: CallRequest<A>) => Call<A>;

/** How long a call may wait for the rate limiter. After that, it fails, so that other objects are reconciled. */
const LIMITER_DEADLINE: Ms = 15_000;
/** For fetching the credentials and signing, before the request is sent. */
const SIGNING_DEADLINE: Ms = 10_000;
/** AWS responds to a read within about a second. A mutation has its own time budget instead. */
const READ_DEADLINE: Ms = 10_000;

const ResponseMetadata = t.partial({ $metadata: t.partial({ httpStatusCode: t.number, requestId: t.string }) });

/**
 * Returns a factory whose calls wait for the rate limiter, are sent with their own deadline, and are counted, logged
 * and decoded. A call settles at its deadline or when the signal of its {@link CallContext} aborts, even if the SDK or
 * the transport ignores the signal.
 *
 * If the request was not sent, AWS has not changed anything: the failure is `NoCredentials`, `NotDispatched` if this
 * manager stopped the call, and otherwise `NotPrepared`. If the request was sent and not answered, AWS may have changed
 * something: the failure is `NoAnswer`. A call is never retried (`maxAttempts` in sdk-clients.ts).
 *
 * A panic (a bug such as a TypeError) before the request is sent is thrown: a failure would be retried forever without
 * a stack trace in the log.
 */
export function newCallFactory(env: CallEnv, service: AwsService, context: CallContext): CallFactory {
  return async (request) => {
    const { operation, kind } = request;
    const fail = async (failure: AwsFailure): Promise<E.Either<AwsFailure, never>> =>
      E.left((await context.examine?.(failure)) ?? failure);

    let permit: Permit;
    const askedAt = env.clock.monotonic();
    try {
      permit = await acquirePermit(env, service, context, kind);
    } catch (error) {
      return await fail(toAwsFailure({ service, operation, progress: 'stopped' }, error));
    } finally {
      env.metrics.recordWait(service, kind, env.clock.monotonic() - askedAt);
    }

    const attempt = new CallAttempt(env.clock, context, kind);
    const output = await attempt.run(request.send);
    const { sentAt } = attempt;
    if (E.isLeft(output) && sentAt === undefined && isPanic(output.left)) {
      permit.settle('completed');
      throw output.left;
    }
    const response = E.isRight(output)
      ? decodeResponse(service, request, output.right)
      : E.left(toAwsFailure({ service, operation, progress: attempt.progress }, output.left));
    permit.settle(E.isLeft(response) && isThrottled(response.left) ? 'throttled' : 'completed');

    const errorCode = E.isLeft(response) ? response.left.code : '';
    const { statusCode, requestId } = E.isLeft(response) ? response.left : metadataOf(E.toUnion(output));
    const logger = context.logger.with({ service, operation });
    if (sentAt === undefined) {
      logger.debug('AWS call not sent', { errorCode });
    } else {
      const took = env.clock.monotonic() - sentAt;
      env.metrics.recordCall({ service, operation, statusCode, errorCode, took });
      logger.debug('AWS call', { statusCode, errorCode, requestId, milliseconds: Math.round(took) });
    }
    return E.isLeft(response) ? fail(response.left) : response;
  };
}

function acquirePermit(
  { clock, limiter }: CallEnv,
  service: AwsService,
  context: CallContext,
  kind: CallKind,
): Promise<Permit> {
  const priority = kind === 'mutation' ? () => kind : context.readPriority;
  return withDeadline(clock, LIMITER_DEADLINE, context.signal, 'the rate limit', (signal) =>
    limiter.acquire(`${context.rateLimitKeyPrefix} ${service} ${kind}`, rateLimitFor(service, kind), priority, signal),
  );
}

/** The reason passed to each `abort`. Without a reason, each `abort` would create an exception with a stack trace. */
const CALL_ENDED = new Error('the call of AWS is over');

/** One attempt of a call. Signing has its own deadline. The response deadline begins when the request is sent. */
class CallAttempt {
  /** When the transport got the request (monotonic). Reset to undefined if {@link beforeSend} stops the request. */
  sentAt: Ms | undefined;
  /** Whether the request was not sent because of an abort, a passed deadline, or a lease that has almost run out. */
  private wasStoppedBeforeSending = false;
  private readonly clock: Clock;
  private readonly context: CallContext;
  private readonly kind: CallKind;
  private readonly controller = new AbortController();
  private timer: Timer | undefined;

  constructor(clock: Clock, context: CallContext, kind: CallKind) {
    this.clock = clock;
    this.context = context;
    this.kind = kind;
  }

  get progress(): Progress {
    if (this.sentAt !== undefined) return 'sent';
    return this.wasStoppedBeforeSending || this.context.signal.aborted ? 'stopped' : 'prepared';
  }

  async run(send: () => Promise<unknown>): Promise<E.Either<unknown, unknown>> {
    const { signal: stop } = this.context;
    const onStop = (): void => this.controller.abort(stop.reason);
    if (stop.aborted) return E.left(stop.reason);
    stop.addEventListener('abort', onStop, { once: true });
    this.startDeadline(SIGNING_DEADLINE, 'preparing the request');
    try {
      return E.right(
        await untilAborted(this.controller.signal, (abortSignal) =>
          withDispatchOptions(
            {
              abortSignal,
              beforeDispatch: () => this.beforeDispatch(),
              beforeSend: () => this.beforeSend(),
              onDate: (date) => this.context.onDate?.(date),
            },
            send,
          ),
        ),
      );
    } catch (error) {
      return E.left(error);
    } finally {
      this.timer?.cancel();
      stop.removeEventListener('abort', onStop);
      // Aborts the HTTP request if it is still under way.
      this.controller.abort(CALL_ENDED);
    }
  }

  private beforeDispatch(): void {
    this.startDeadline(this.requireTimeToSend(), 'AWS');
    this.sentAt = this.clock.monotonic();
  }

  /**
   * Checks again right before the first byte: the process may have been suspended while the transport connected, and
   * the timer of a deadline that passed meanwhile may fire only after this check.
   */
  private beforeSend(): void {
    try {
      this.requireTimeToSend();
    } catch (error) {
      this.sentAt = undefined;
      throw error;
    }
  }

  private requireTimeToSend(): Ms {
    this.wasStoppedBeforeSending = true;
    this.controller.signal.throwIfAborted();
    const budget = this.kind === 'mutation' ? this.context.mutationBudget() : READ_DEADLINE;
    if (!(budget > 0)) throw new Error('this manager may not change anything now: its leadership runs out');
    this.wasStoppedBeforeSending = false;
    return budget;
  }

  private startDeadline(limit: Ms, what: string): void {
    this.timer?.cancel();
    this.timer = this.clock.after(limit, () => this.controller.abort(new DeadlineExceeded(what, limit)));
  }
}

function decodeResponse<A>(
  service: AwsService,
  { operation, response }: CallRequest<A>,
  output: unknown,
): E.Either<AwsFailure, A> {
  const metadata = metadataOf(output);
  const undecodable = (message: string): E.Either<AwsFailure, never> =>
    E.left({ service, operation, code: 'Undecodable', message, ...metadata });
  // Every AWS response has a request ID. A proxy's HTML page has none, but the SDK accepts such a page as the empty
  // response of most IAM mutations.
  if (metadata.requestId === undefined)
    return undecodable(`HTTP ${metadata.statusCode ?? 200} without a request ID: not a response of AWS`);
  const decoded = decode(response, output);
  if (E.isRight(decoded)) return decoded;
  // Omits the remedies, because users cannot correct an AWS response.
  const problems = decoded.left.map(({ remedy: _remedy, ...problem }) => problem);
  return undecodable(`the response is not as expected: ${describeProblems(problems)}`);
}

function metadataOf(output: unknown): { readonly statusCode?: number; readonly requestId?: string } {
  const decoded = ResponseMetadata.decode(output);
  const { httpStatusCode: statusCode, requestId } = (E.isRight(decoded) && decoded.right.$metadata) || {};
  return { ...(statusCode !== undefined && { statusCode }), ...(requestId !== undefined && { requestId }) };
}
