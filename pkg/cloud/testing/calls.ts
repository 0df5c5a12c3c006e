import * as E from 'fp-ts/lib/Either.js';
import { Registry } from 'prom-client';
import { MemoryLogger, VirtualClock } from 'controller-runtime/testing';
import { newCallFactory, type CallContext, type CallFactory, type Call } from '../call/call.ts';
import { newClients, type Clients } from '../call/sdk-clients.ts';
import { AWS_ENDPOINTS } from './endpoints.ts';
import type { AwsFailure, AwsService } from '../errors/failure.ts';
import { newRateLimiter, type RateLimiter } from '../call/rate-limiter.ts';
import { awsMetrics } from '../metrics.ts';
import type { AwsTransport } from '../transport/transport.ts';

/** The real SDK clients and the real factory of AWS calls, with a virtual clock and the test's transport. */
export class CallHarness {
  readonly clock = new VirtualClock();
  readonly logger = new MemoryLogger();
  readonly registry = new Registry();
  readonly limiter: RateLimiter;
  readonly clients: Clients;
  private readonly metrics = awsMetrics(this.registry);

  constructor(transport: AwsTransport, limiter?: RateLimiter) {
    this.limiter = limiter ?? newRateLimiter(this.clock);
    this.clients = newClients({
      region: 'eu-west-1',
      transport,
      credentials: async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }),
      endpoints: AWS_ENDPOINTS,
      version: 'v1.2.3',
    });
  }

  newCalls(service: AwsService, context: Partial<CallContext> = {}): CallFactory {
    const { clock, limiter, metrics } = this;
    return newCallFactory({ clock, limiter, metrics }, service, {
      rateLimitKeyPrefix: 'test',
      signal: new AbortController().signal,
      mutationBudget: () => 10_000,
      readPriority: () => 'read',
      logger: this.logger,
      ...context,
    });
  }

  /** Returns the sum of those series of a metric that have the given labels. */
  async sumOf(name: string, labels: Readonly<Record<string, string | number>>): Promise<number> {
    const { values = [] } = (await this.registry.getSingleMetric(name)?.get()) ?? {};
    return values
      .filter(({ labels: found }) => Object.entries(labels).every(([key, value]) => found[key] === value))
      .reduce((sum, { value }) => sum + value, 0);
  }
}

/** Returns the response, or the failure without its cause. */
export async function outcomeOf(call: Call<unknown>): Promise<unknown> {
  const outcome = await call;
  if (E.isRight(outcome)) return outcome.right;
  const { cause: _, ...failure } = outcome.left;
  return failure;
}

export async function expectResponse<A>(call: Call<A>): Promise<A> {
  const outcome = await call;
  if (E.isLeft(outcome)) throw new Error(`${outcome.left.code}: ${outcome.left.message}`);
  return outcome.right;
}

export async function expectFailure(call: Call<unknown>): Promise<Omit<AwsFailure, 'cause'>> {
  const outcome = await call;
  if (E.isRight(outcome)) throw new Error(`the call succeeded with ${JSON.stringify(outcome.right)}`);
  const { cause: _, ...failure } = outcome.left;
  return failure;
}
