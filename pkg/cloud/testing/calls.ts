import * as E from 'fp-ts/lib/Either.js';
import { Registry } from 'prom-client';
import { MemoryLogger } from '../../env/testing/memory-logger.ts';
import { VirtualClock } from '../../env/testing/virtual-clock.ts';
import type { Caller, Calling } from '../call.ts';
import { calling } from '../call.ts';
import type { Clients } from '../clients.ts';
import { newClients } from '../clients.ts';
import { AWS_ENDPOINTS } from './endpoints.ts';
import type { AwsFailure, AwsService } from '../failure.ts';
import type { Limiter } from '../limiter.ts';
import { newLimiter } from '../limiter.ts';
import { awsMetrics } from '../metrics.ts';
import type { AwsTransport } from '../transport.ts';
import type { Call } from '../types.ts';

/** The real clients of the SDK and the real wrapper of calls, on a clock and a transport that a test holds. */
export class Workbench {
  readonly clock = new VirtualClock();
  readonly logger = new MemoryLogger();
  readonly registry = new Registry();
  readonly limiter: Limiter;
  readonly clients: Clients;
  private readonly metrics = awsMetrics(this.registry);

  constructor(transport: AwsTransport, region = 'eu-west-1', limiter?: Limiter) {
    this.limiter = limiter ?? newLimiter(this.clock);
    this.clients = newClients({
      region,
      transport,
      credentials: async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }),
      endpoints: AWS_ENDPOINTS,
      version: 'v1.2.3',
    });
  }

  calling(service: AwsService, caller: Partial<Caller> = {}): Calling {
    const { clock, limiter, metrics } = this;
    return calling({ clock, limiter, metrics }, service, {
      limitedAs: 'test',
      signal: new AbortController().signal,
      mutationBudget: () => 10_000,
      polling: false,
      logger: this.logger,
      ...caller,
    });
  }

  /** The value of a counter for the labels that are given, or 0. */
  async counted(name: string, labels: Readonly<Record<string, string | number>>): Promise<number> {
    const { values = [] } = (await this.registry.getSingleMetric(name)?.get()) ?? {};
    return values
      .filter(({ labels: found }) => Object.entries(labels).every(([key, value]) => found[key] === value))
      .reduce((sum, { value }) => sum + value, 0);
  }
}

/** What a call answers; throws where it fails. */
export async function answerOf<A>(call: Call<A>): Promise<A> {
  const outcome = await call();
  if (E.isLeft(outcome)) {
    throw new Error(`${outcome.left.code}: ${outcome.left.message}`);
  }
  return outcome.right;
}

/** How a call fails, without its cause; throws where it does not. */
export async function failureOf(call: Call<unknown>): Promise<Omit<AwsFailure, 'cause'>> {
  const outcome = await call();
  if (E.isRight(outcome)) {
    throw new Error(`answered ${JSON.stringify(outcome.right)}`);
  }
  const { cause: _, ...failure } = outcome.left;
  return failure;
}
