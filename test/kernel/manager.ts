import { Registry } from 'prom-client';
import { isRight } from 'fp-ts/lib/Either.js';
import type { Env } from '../../cmd/manager/env.ts';
import { parseFlags } from '../../cmd/manager/flags.ts';
import { runManager } from '../../cmd/manager/run.ts';
import { AWS_ENDPOINTS } from '../../pkg/cloud/testing/endpoints.ts';
import type { AwsTransport } from '../../pkg/cloud/transport.ts';
import type { Clock, Ms, Timer } from '../../pkg/env/clock.ts';
import { MemoryLogger } from '../../pkg/env/testing/memory-logger.ts';
import { SeededRandom } from '../../pkg/env/testing/seeded-random.ts';
import type { Transport, TransportRequest, TransportResponse } from '../../pkg/kube/transport.ts';
import { Line } from './line.ts';

/** The servers around, and what makes this process differ from others. */
export interface Surroundings {
  readonly name: string;
  readonly seed: number;
  readonly clock: Clock;
  readonly kube: Transport;
  readonly aws: AwsTransport;
  readonly accessKeyId: string;
  /** As on the command line. */
  readonly flags: readonly string[];
  /** How far its wall clock is ahead of everybody else's. */
  readonly skew: Ms;
}

/** The whole manager in this process, with lines to its servers that can be cut, and a life that can be ended. */
export class KernelManager {
  readonly name: string;
  readonly accessKeyId: string;
  readonly logger = new MemoryLogger();
  readonly kubeLine = new Line();
  readonly awsLine = new Line();
  /** How it ended, and when (wall clock of the world). */
  ended: { readonly at: Ms; readonly error?: unknown } | undefined;
  private readonly clock: ProcessClock;
  private readonly stopping = new AbortController();

  constructor({ name, seed, clock, kube, aws, accessKeyId, flags, skew }: Surroundings) {
    this.name = name;
    this.accessKeyId = accessKeyId;
    this.clock = new ProcessClock(clock, skew);
    const command = parseFlags(['--health-addr', '0', '--diagnostics-address', '0', ...flags]);
    if (!isRight(command) || command.right.kind !== 'run') throw new Error(`no flags to run with: ${flags.join(' ')}`);
    const env: Env = {
      clock: this.clock,
      random: new SeededRandom(seed),
      logger: this.logger,
      kube: throughLine(kube, this.kubeLine),
      aws: awsThroughLine(aws, this.awsLine),
      endpoints: AWS_ENDPOINTS,
      credentials: { key: 'manager', fetch: async () => ({ accessKeyId, secretAccessKey: 'secret' }) },
      hostname: name,
      ownNamespace: 'capaf-system',
    };
    runManager(env, command.right.flags, new Registry(), this.stopping.signal).then(
      () => (this.ended ??= { at: clock.now() }),
      (error: unknown) => this.exit(error, clock.now()),
    );
  }

  /** As SIGTERM: it ends in good order, which takes its time. */
  stop(): void {
    this.stopping.abort(new Error('received SIGTERM'));
  }

  /** As SIGKILL: what was sent has its effect, nothing else happens any more. */
  kill(): void {
    this.exit(new Error('killed'), this.clock.world.now());
  }

  /** A process that ends takes its timers and connections with it. */
  private exit(error: unknown, at: Ms): void {
    if (this.ended !== undefined) return;
    this.ended = { at, error };
    this.clock.stop();
    this.kubeLine.kill();
    this.awsLine.kill();
  }

  /** In how many ms its timers fire. */
  get timers(): readonly Ms[] {
    return this.clock.timers;
  }
}

/** A process's own clock: its hands may be set wrong, and its timers end with it. */
class ProcessClock implements Clock {
  readonly world: Clock;
  private readonly armed = new Map<Timer, Ms>();
  private readonly skew: Ms;
  private stopped = false;

  constructor(world: Clock, skew: Ms) {
    this.world = world;
    this.skew = skew;
  }

  get timers(): readonly Ms[] {
    return [...this.armed.values()].map((due) => due - this.world.monotonic());
  }

  now(): Ms {
    return this.world.now() + this.skew;
  }

  monotonic(): Ms {
    return this.world.monotonic();
  }

  after(delay: Ms, fire: () => void): Timer {
    if (this.stopped) return { cancel: () => {} };
    const timer = this.world.after(delay, () => {
      this.armed.delete(handle);
      fire();
    });
    const handle: Timer = {
      cancel: () => {
        this.armed.delete(handle);
        timer.cancel();
      },
    };
    this.armed.set(handle, this.world.monotonic() + delay);
    return handle;
  }

  stop(): void {
    this.stopped = true;
    for (const timer of this.armed.keys()) timer.cancel();
  }
}

function throughLine(transport: Transport, line: Line): Transport {
  return {
    host: transport.host,
    async send(request: TransportRequest): Promise<TransportResponse> {
      await line.pass(request.signal);
      const signal = AbortSignal.any([request.signal, line.killed]);
      const response = await transport.send({ ...request, signal }).catch(async (error: unknown) => {
        await line.pass(request.signal);
        throw error;
      });
      await line.pass(request.signal);
      return { ...response, body: held(response.body, line, request.signal) };
    },
  };
}

/** A body whose bytes come only while the line is open. */
async function* held(body: AsyncIterable<Uint8Array>, line: Line, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      await line.pass(signal);
      yield chunk;
    }
  } catch (error) {
    await line.pass(signal);
    throw error;
  }
}

function awsThroughLine(transport: AwsTransport, line: Line): AwsTransport {
  return {
    async handle(request, options) {
      await line.pass(options.abortSignal);
      // As a connection that stands at last.
      options.beforeSend?.();
      try {
        return await transport.handle(request, options);
      } finally {
        await line.pass(options.abortSignal);
      }
    },
  };
}
