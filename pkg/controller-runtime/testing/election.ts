import { expect } from 'chai';
import { Registry } from 'prom-client';
import type { Clock, Ms, Timer } from '../env/clock.ts';
import { MemoryLogger } from './memory-logger.ts';
import { SeededRandom } from './seeded-random.ts';
import { VirtualClock } from './virtual-clock.ts';
import { createKubeClient } from '../client/client.ts';
import { keyOf, keyText } from '../client/object-key.ts';
import { GRANT } from './fixtures.ts';
import { FakeApiServer, text, type Intercept } from './fake-api-server.ts';
import type { TransportRequest } from '../client/transport.ts';
import type { KubeObject } from '../client/types.ts';
import { LeaderElection } from '../election/leader-election.ts';
import type { ElectionTimings } from '../election/timings.ts';
import { leaseSpecOf, type LeaseSpec } from '../election/lease.ts';
import { Metrics } from '../metrics/metrics.ts';

export const LEASE = { namespace: 'example-system', name: 'controller-leader-election-example' };

/** The clock of another machine. */
class SkewedClock implements Clock {
  private readonly clock: Clock;
  private readonly skew: Ms;

  constructor(clock: Clock, skew: Ms) {
    this.clock = clock;
    this.skew = skew;
  }

  now(): Ms {
    return this.clock.now() + this.skew;
  }

  monotonic(): Ms {
    return this.clock.monotonic() + 1_234_567;
  }

  after(delay: Ms, fire: () => void): Timer {
    return this.clock.after(delay, fire);
  }
}

/** One process of the leader election. */
export class Candidate {
  readonly logger = new MemoryLogger();
  readonly registry = new Registry();
  readonly stopping = new AbortController();
  /** The recorded Events, each as `kind namespace/name: type reason: message`. */
  readonly events: string[] = [];
  readonly election: LeaderElection;
  state: 'waiting' | 'leading' | 'lost' | 'stopped' = 'waiting';
  error: unknown;
  /** A fault of this candidate's connection to the API server. */
  intercept: Intercept = () => undefined;
  private ended: Promise<void> = Promise.resolve();

  constructor(environment: ElectionEnvironment, hostname: string, skew: Ms, timings?: ElectionTimings) {
    const clock = new SkewedClock(environment.clock, skew);
    const { server } = environment;
    const transport = {
      host: server.host,
      send: async (request: TransportRequest) => {
        const intercepted = await this.intercept(request);
        if (intercepted instanceof Error) throw intercepted;
        return intercepted ?? (await server.send(request));
      },
    };
    this.election = new LeaderElection({
      kube: createKubeClient({ transport, clock }),
      clock,
      random: environment.random,
      logger: this.logger,
      lease: LEASE,
      hostname,
      grant: GRANT,
      metrics: new Metrics(this.registry).leaderElection(LEASE.name),
      recorder: {
        record: ({ kind, metadata }, type, reason, message) =>
          this.events.push(`${kind} ${keyText(keyOf({ metadata }))}: ${type} ${reason}: ${message}`),
      },
      ...(timings === undefined ? {} : { timings }),
    });
  }

  get identity(): string {
    return this.election.identity;
  }

  start(): this {
    this.ended = this.run();
    return this;
  }

  /** Stops as the manager does: holds the lease until the work has ended, then releases it. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('stop'));
    await this.ended;
  }

  async isMaster(): Promise<number> {
    const metrics = await this.registry.getMetricsAsJSON();
    const values = metrics.find(({ name }) => name === 'leader_election_master_status')?.values ?? [];
    return values[0]?.value ?? NaN;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    try {
      await this.election.acquire(signal);
      this.state = 'leading';
      await this.election.hold(signal);
      this.state = 'stopped';
    } catch (error) {
      this.error = error;
      this.state = signal.aborted ? 'stopped' : 'lost';
    }
    await this.election.release();
  }
}

export class ElectionEnvironment {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  readonly server: FakeApiServer;
  private readonly candidates: Candidate[] = [];

  constructor(seed = 1) {
    this.random = new SeededRandom(seed);
    this.server = new FakeApiServer({ clock: this.clock, random: this.random });
  }

  candidate(hostname = 'pod-1', skew: Ms = 0, timings?: ElectionTimings): Candidate {
    const candidate = new Candidate(this, hostname, skew, timings);
    this.candidates.push(candidate);
    return candidate;
  }

  async leader(hostname = 'pod-1', timings?: ElectionTimings): Promise<Candidate> {
    const candidate = this.candidate(hostname, 0, timings).start();
    await this.clock.settle();
    expect(candidate.state).to.equal('leading');
    return candidate;
  }

  /** Stops all candidates, and checks that they leave no timers or watches behind. */
  async end(): Promise<void> {
    for (const candidate of this.candidates) candidate.intercept = () => undefined;
    await Promise.all([...this.candidates.map((candidate) => candidate.stop()), this.clock.advance(60_000)]);
    expect([this.clock.pendingTimers(), this.server.openWatches]).to.deep.equal([[], 0]);
  }

  lease(): KubeObject {
    return this.server.storage.get(this.server.kind('leases'), LEASE) ?? expect.fail('there is no lease');
  }

  spec(): LeaseSpec {
    return leaseSpecOf(this.lease());
  }

  /** Writes the Lease as a client outside the election would. */
  write(spec: LeaseSpec): void {
    const kind = this.server.kind('leases');
    if (this.server.storage.get(kind, LEASE) === undefined)
      this.server.storage.create(kind, LEASE.namespace, { metadata: { name: LEASE.name }, spec });
    else this.server.storage.mergePatch(kind, LEASE, { spec });
  }
}

/** Creates an environment for each test of the surrounding `describe`, and ends it after the test. */
export function newEnvironmentForEachTest(use: (environment: ElectionEnvironment) => void): void {
  let environment: ElectionEnvironment;
  beforeEach(() => use((environment = new ElectionEnvironment())));
  afterEach(() => environment.end());
}

export const heldLease = (holderIdentity: string, more: LeaseSpec = {}): LeaseSpec => ({
  holderIdentity,
  leaseDurationSeconds: 15,
  acquireTime: '2020-01-01T00:00:00.000000Z',
  renewTime: '2020-01-01T00:00:00.000000Z',
  leaseTransitions: 3,
  ...more,
});

export const releasedLease = (): LeaseSpec => heldLease('');

/** API server faults, which a test assigns to a candidate's `intercept`. */
export const unavailable = (): ReturnType<Intercept> => text(503, 'unavailable');
export const hang = (): Promise<never> => new Promise(() => {});
