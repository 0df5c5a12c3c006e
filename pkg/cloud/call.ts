import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { decode, describeProblem } from '../../api/schema/problem.ts';
import type { Clock, Ms, Timer } from '../env/clock.ts';
import { DeadlineExceeded, untilAborted, withDeadline } from '../env/deadline.ts';
import type { Logger } from '../env/logger.ts';
import { isPanic } from '../env/panic.ts';
import { isThrottled } from './errors.ts';
import type { AwsFailure, AwsService } from './failure.ts';
import type { Limiter, Permit } from './limiter.ts';
import type { Kind } from './limits.ts';
import { LONGEST_TURN, PREPARATION_DEADLINE, READ_DEADLINE, limitOf } from './limits.ts';
import type { AwsMetrics } from './metrics.ts';
import { toFailure } from './sdk-failure.ts';
import type { DispatchOptions } from './sdk-handler.ts';
import type { Call } from './types.ts';

/** What all calls of the process share. */
export interface CallEnv {
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly metrics: AwsMetrics;
}

/** For whom the calls of one pass are made. */
export interface Caller {
  /** Whose limits they count against: the account, and for regional services the region. */
  readonly limitedAs: string;
  readonly signal: AbortSignal;
  /** Milliseconds that a mutation may take from now; 0 or less and it may not be sent. Asked right before each. */
  readonly mutationBudget: () => Ms;
  /** These reads only look whether something has finished: they give way to others. */
  readonly polling: boolean;
  readonly logger: Logger;
  /** Hears of each failure, with the credentials in mind. */
  readonly onFailure?: (failure: AwsFailure) => void;
}

export interface Request<A> {
  readonly operation: string;
  readonly kind: Kind;
  /** Sends the command with these options. */
  readonly send: (options: DispatchOptions) => Promise<unknown>;
  readonly answer: t.Decoder<unknown, A>;
}

/** Makes the calls of one service: the only way from here to AWS. */
export type Calling = <A>(request: Request<A>) => Call<A>;

const Metadata = t.partial({ $metadata: t.partial({ httpStatusCode: t.number, requestId: t.string }) });

/**
 * Each call waits for its turn at the limiter, then has a deadline of its own from the moment it is sent, counts in the
 * metrics and in the log, and is decoded. It settles at its deadline or at the caller's signal even if neither the SDK
 * nor the transport listens.
 *
 * What was thrown before the request was sent has no effect (`NotDispatched`); afterwards the effect is unknown
 * (`NoAnswer`). A mistake of the program before it was sent is thrown on: as a failure it would be tried for ever in
 * silence.
 */
export function calling(env: CallEnv, service: AwsService, caller: Caller): Calling {
  return (request) => async () => {
    const { operation, kind } = request;
    const logger = caller.logger.with({ service, operation });
    const failed = (failure: AwsFailure): E.Either<AwsFailure, never> => {
      caller.onFailure?.(failure);
      return E.left(failure);
    };

    let permit: Permit;
    try {
      permit = await turn(env, service, caller, kind);
    } catch (error) {
      return failed(toFailure({ service, operation, dispatched: false }, error));
    }

    const dispatch = new Dispatch(env.clock, caller, kind);
    const result = await dispatch.run(request.send);
    if (E.isLeft(result) && dispatch.sentAt === undefined && isPanic(result.left)) {
      permit.settle('answered');
      throw result.left;
    }
    const outcome = E.isRight(result)
      ? decodeAnswer(service, request, result.right)
      : E.left(toFailure({ service, operation, dispatched: dispatch.sentAt !== undefined }, result.left));
    permit.settle(E.isLeft(outcome) && isThrottled(outcome.left) ? 'throttled' : 'answered');

    const errorCode = E.isLeft(outcome) ? outcome.left.code : '';
    if (dispatch.sentAt === undefined) {
      logger.debug('AWS call not sent', { errorCode });
    } else {
      const took = env.clock.monotonic() - dispatch.sentAt;
      const { statusCode, requestId } = E.isLeft(outcome) ? outcome.left : factsOf(result);
      env.metrics.sent({ service, operation, statusCode, errorCode, took });
      logger.debug('AWS call', { statusCode, errorCode, requestId, milliseconds: Math.round(took) });
    }
    return E.isLeft(outcome) ? failed(outcome.left) : outcome;
  };
}

function turn({ clock, limiter }: CallEnv, service: AwsService, caller: Caller, kind: Kind): Promise<Permit> {
  const priority = kind === 'mutation' ? 'mutation' : caller.polling ? 'poll' : 'read';
  return withDeadline(clock, LONGEST_TURN, caller.signal, 'the rate limit', (signal) =>
    limiter.acquire(`${caller.limitedAs} ${service} ${kind}`, limitOf(service, kind), priority, signal),
  );
}

/** Made once: an abort without a reason makes an exception, with its stack, for each call. */
const OVER = new Error('the call of AWS is over');

/** One attempt: prepared under one deadline, sent under another that begins at that moment. */
class Dispatch {
  /** Monotonic; undefined until the request was handed to the transport, and where that did not send it after all. */
  sentAt: Ms | undefined;
  private readonly clock: Clock;
  private readonly caller: Caller;
  private readonly kind: Kind;
  private readonly controller = new AbortController();
  private timer: Timer | undefined;

  constructor(clock: Clock, caller: Caller, kind: Kind) {
    this.clock = clock;
    this.caller = caller;
    this.kind = kind;
  }

  async run(send: (options: DispatchOptions) => Promise<unknown>): Promise<E.Either<unknown, unknown>> {
    const { signal: stop } = this.caller;
    const onStop = (): void => this.controller.abort(stop.reason);
    if (stop.aborted) {
      return E.left(stop.reason);
    }
    stop.addEventListener('abort', onStop, { once: true });
    this.arm(PREPARATION_DEADLINE, 'preparing the request');
    try {
      return E.right(
        await untilAborted(this.controller.signal, (abortSignal) =>
          send({
            abortSignal,
            beforeDispatch: () => this.beforeDispatch(),
            beforeSend: () => this.beforeSend(),
          }),
        ),
      );
    } catch (error) {
      return E.left(error);
    } finally {
      this.timer?.cancel();
      stop.removeEventListener('abort', onStop);
      // Whatever is still under way has nobody left to answer to.
      this.controller.abort(OVER);
    }
  }

  private beforeDispatch(): void {
    this.arm(this.budget(), 'AWS');
    this.sentAt = this.clock.monotonic();
  }

  /** A process that stood still while it connected meets here what it missed: timers fire only after what it woke for. */
  private beforeSend(): void {
    try {
      this.budget();
    } catch (error) {
      this.sentAt = undefined;
      throw error;
    }
  }

  /** How long the call may take from now. Throws when it may not be sent (any more). */
  private budget(): Ms {
    this.controller.signal.throwIfAborted();
    const budget = this.kind === 'mutation' ? this.caller.mutationBudget() : READ_DEADLINE;
    if (!(budget > 0)) {
      throw new Error('this manager may not change anything now: its leadership runs out');
    }
    return budget;
  }

  private arm(limit: Ms, what: string): void {
    this.timer?.cancel();
    this.timer = this.clock.after(limit, () => this.controller.abort(new DeadlineExceeded(what, limit)));
  }
}

function decodeAnswer<A>(
  service: AwsService,
  { operation, answer }: Request<A>,
  output: unknown,
): E.Either<AwsFailure, A> {
  const { requestId, statusCode } = factsOf(E.right(output));
  const undecodable = (message: string): AwsFailure => ({
    service,
    operation,
    code: 'Undecodable',
    message,
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(requestId === undefined ? {} : { requestId }),
  });
  // The SDK takes a proxy's page for the empty answer that most mutations of IAM have; AWS signs each with a request id.
  return requestId === undefined
    ? E.left(undecodable(`HTTP ${statusCode ?? 200} without a request id: no answer of AWS`))
    : E.mapLeft((problems: readonly Parameters<typeof describeProblem>[0][]) =>
        undecodable(`the answer is not as expected: ${problems.map(describeProblem).join('; ')}`),
      )(decode(answer, output));
}

function factsOf(result: E.Either<unknown, unknown>): { statusCode?: number; requestId?: string } {
  const decoded = E.isRight(result) ? Metadata.decode(result.right) : result;
  if (E.isLeft(decoded)) {
    return {};
  }
  const { httpStatusCode, requestId } = decoded.right.$metadata ?? {};
  return {
    ...(httpStatusCode === undefined ? {} : { statusCode: httpStatusCode }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}
