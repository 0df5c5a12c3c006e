import { Registry } from 'prom-client';
import { isRight } from 'fp-ts/lib/Either.js';
import type { Transport, TransportRequest, TransportResponse } from 'controller-runtime/client';
import type { Clock, Ms, Timer } from 'controller-runtime/env';
import type { ConnectToServer } from 'controller-runtime/kubeconfig';
import { MemoryLogger, SeededRandom } from 'controller-runtime/testing';
import type { Env } from '../../../cmd/manager/env.ts';
import { parseFlags } from '../../../cmd/manager/flags/parse-flags.ts';
import { runManager } from '../../../cmd/manager/run.ts';
import type { AwsCredentialSource, AwsTransport, Endpoints } from '../../../pkg/cloud/index.ts';
import { Connection } from './connection.ts';

/** The secret access key of each simulated manager. */
export const MANAGER_SECRET = 'own-secret-access-key-of-the-manager';

/** The servers, clock, AWS access key and flags that the simulation gives to one simulated manager process. */
export interface SimulatedManagerOptions {
  readonly name: string;
  readonly seed: number;
  readonly clock: Clock;
  readonly kube: Transport;
  readonly connectToServer: ConnectToServer;
  readonly aws: AwsTransport;
  readonly accessKeyId: string;
  readonly endpoints: Endpoints;
  readonly flags: readonly string[];
  readonly awsRegion: string | undefined;
  /** Default: the access key `accessKeyId`. */
  readonly credentials?: AwsCredentialSource;
  /** How far the manager's wall clock is ahead of the virtual clock; a negative time means behind. */
  readonly skew: Ms;
}

/**
 * A simulated manager: the whole manager runs in the process of the test. A test can interrupt its connections, stop it
 * or kill it.
 */
export class SimulatedManager {
  readonly name: string;
  readonly accessKeyId: string;
  readonly logger = new MemoryLogger();
  readonly metrics = new Registry();
  readonly kubeConnection = new Connection();
  readonly awsConnection = new Connection();
  /**
   * The time on the virtual clock at which the manager exited, and the error with which it exited, if any; undefined:
   * the manager still runs.
   */
  ended: { readonly at: Ms; readonly error?: unknown } | undefined;
  private readonly clock: ProcessClock;
  private readonly stopping = new AbortController();

  constructor(options: SimulatedManagerOptions) {
    const { name, seed, clock, kube, aws, endpoints, accessKeyId, flags, awsRegion, credentials, skew } = options;
    this.name = name;
    this.accessKeyId = accessKeyId;
    this.clock = new ProcessClock(clock, skew);
    const command = parseFlags(['--health-addr', '0', '--diagnostics-address', '0', ...flags]);
    if (!isRight(command) || command.right.kind !== 'run') throw new Error(`no flags to run with: ${flags.join(' ')}`);
    const env: Env = {
      clock: this.clock,
      random: new SeededRandom(seed),
      logger: this.logger,
      setVerbosity: () => {},
      profiler: { cpu: async () => '', heap: async () => '' },
      kube: kubeThrough(kube, this.kubeConnection),
      kubeForLease: kubeThrough(kube, this.kubeConnection),
      connectToServer: (access) => {
        const connections = options.connectToServer(access);
        return { ...kubeThrough(connections, this.kubeConnection), close: () => connections.close() };
      },
      aws: awsThrough(aws, this.awsConnection),
      endpoints,
      credentials: credentials ?? {
        key: 'manager',
        fetch: async () => ({ accessKeyId, secretAccessKey: MANAGER_SECRET }),
      },
      awsRegion,
      hostname: name,
      namespaces: { lease: 'capaf-system', secrets: 'capaf-system' },
    };
    runManager(env, command.right.flags, this.metrics, this.stopping.signal).then(
      () => (this.ended ??= { at: clock.now() }),
      (error: unknown) => this.exit(error, clock.now()),
    );
  }

  /** Stops the manager as SIGTERM does: the manager shuts down in order, which takes some time. */
  stop(): void {
    this.stopping.abort(new Error('received SIGTERM'));
  }

  /**
   * Kills the manager as SIGKILL does. Requests that are already sent still take effect, but the manager sends no more.
   */
  kill(): void {
    this.exit(new Error('killed'), this.clock.world.now());
  }

  /**
   * Ends the simulated process of a manager that was killed or has failed: cancels its timers and closes its
   * connections.
   */
  private exit(error: unknown, at: Ms): void {
    if (this.ended !== undefined) return;
    this.ended = { at, error };
    this.clock.stop();
    this.kubeConnection.kill();
    this.awsConnection.kill();
  }

  /** The remaining time of each running timer of the manager, in milliseconds. */
  get timers(): readonly Ms[] {
    return this.clock.timers;
  }
}

/**
 * The clock of one simulated manager process. Its wall clock may be wrong (skew). When the manager is killed or fails,
 * its timers are cancelled.
 */
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

function kubeThrough(transport: Transport, line: Connection): Transport {
  return {
    host: transport.host,
    async send(request: TransportRequest): Promise<TransportResponse> {
      await line.untilOpen(request.signal);
      const signal = AbortSignal.any([request.signal, line.killed]);
      const response = await transport.send({ ...request, signal }).catch(async (error: unknown) => {
        await line.untilOpen(request.signal);
        throw error;
      });
      await line.untilOpen(request.signal);
      return { ...response, body: bodyThrough(response.body, line, request.signal) };
    },
  };
}

/** Yields the bytes of a response body to the manager. While the connection is interrupted, the bytes wait. */
async function* bodyThrough(
  body: TransportResponse['body'],
  line: Connection,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      await line.untilOpen(signal);
      yield chunk;
    }
  } catch (error) {
    await line.untilOpen(signal);
    throw error;
  }
}

function awsThrough(transport: AwsTransport, line: Connection): AwsTransport {
  return {
    async handle(request, options) {
      await line.untilOpen(options.abortSignal);
      // Tells the manager's AWS client that the connection is established, and that the transport now sends the
      // request.
      options.beforeSend?.();
      try {
        return await transport.handle(request, options);
      } finally {
        await line.untilOpen(options.abortSignal);
      }
    },
  };
}
