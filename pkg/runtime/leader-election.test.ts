import { expect } from 'chai';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import type { Clock, Ms, Timer } from '../env/clock.ts';
import { MemoryLogger } from '../env/testing/memory-logger.ts';
import { SeededRandom } from '../env/testing/seeded-random.ts';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import { formatMicroTime } from '../env/timestamp.ts';
import { createKubeClient } from '../kube/client.ts';
import { FakeApiServer, text } from '../kube/testing/fake-api-server.ts';
import type { Intercept } from '../kube/testing/fake-api-server.ts';
import type { TransportRequest } from '../kube/transport.ts';
import type { KubeObject } from '../kube/types.ts';
import { LeaderElection, LeadershipLost, checkTimings } from './leader-election.ts';
import type { ElectionTimings } from './leader-election.ts';
import { leaseSpecOf } from './lease.ts';
import type { LeaseSpec } from './lease.ts';
import { Metrics } from './metrics.ts';

// The cases of client-go's tools/leaderelection, and its two promises as properties: never two leaders, always one soon.

const LEASE = { namespace: 'capaf-system', name: 'controller-leader-election-capaf' };
const PATH = `/apis/coordination.k8s.io/v1/namespaces/${LEASE.namespace}/leases/${LEASE.name}`;

/** The same time seen through another machine's wrong wall clock. */
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

/** One candidate: acquires, holds, and gives up when it is told to. */
class Candidate {
  readonly logger = new MemoryLogger();
  readonly registry = new Registry();
  readonly stopping = new AbortController();
  readonly election: LeaderElection;
  state: 'waiting' | 'leading' | 'lost' | 'stopped' = 'waiting';
  error: unknown;
  /** How a candidate without a fault reaches the server. */
  intercept: Intercept = () => undefined;
  private ended: Promise<void> = Promise.resolve();

  constructor(world: World, hostname: string, skew: Ms, timings?: ElectionTimings) {
    const clock = new SkewedClock(world.clock, skew);
    const { server } = world;
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
      random: world.random,
      logger: this.logger,
      lease: LEASE,
      hostname,
      metrics: new Metrics(this.registry).leaderElection(LEASE.name),
      ...(timings === undefined ? {} : { timings }),
    });
  }

  get identity(): string {
    return this.election.identity;
  }

  start(): this {
    this.ended = this.live();
    return this;
  }

  /** Stops as the manager does: keeps the lease until its work has ended, then gives it up. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('stop'));
    await this.ended;
  }

  async isMaster(): Promise<number> {
    const metrics = await this.registry.getMetricsAsJSON();
    const values = metrics.find(({ name }) => name === 'leader_election_master_status')?.values ?? [];
    return values[0]?.value ?? NaN;
  }

  private async live(): Promise<void> {
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

class World {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  readonly server: FakeApiServer;

  constructor(seed = 1) {
    this.random = new SeededRandom(seed);
    this.server = new FakeApiServer({ clock: this.clock, random: this.random });
  }

  candidate(hostname = 'pod-1', skew: Ms = 0, timings?: ElectionTimings): Candidate {
    return new Candidate(this, hostname, skew, timings);
  }

  /** A candidate that leads. */
  async leader(hostname = 'pod-1'): Promise<Candidate> {
    const candidate = this.candidate(hostname).start();
    await this.clock.settle();
    expect(candidate.state).to.equal('leading');
    return candidate;
  }

  lease(): KubeObject {
    return this.server.storage.get(this.server.kind('leases'), LEASE) ?? expect.fail('there is no lease');
  }

  spec(): LeaseSpec {
    return leaseSpecOf(this.lease());
  }

  /** Writes the lease as another program would. */
  write(spec: LeaseSpec): void {
    const kind = this.server.kind('leases');
    if (this.server.storage.get(kind, LEASE) === undefined)
      this.server.storage.create(kind, LEASE.namespace, { metadata: { name: LEASE.name }, spec });
    else this.server.storage.mergePatch(kind, LEASE, { spec });
  }
}

const held = (holderIdentity: string, more: LeaseSpec = {}): LeaseSpec => ({
  holderIdentity,
  leaseDurationSeconds: 15,
  acquireTime: '2020-01-01T00:00:00.000000Z',
  renewTime: '2020-01-01T00:00:00.000000Z',
  leaseTransitions: 3,
  ...more,
});

const unavailable = (): ReturnType<Intercept> => text(503, 'unavailable');
const hang = (): Promise<never> => new Promise(() => {});

describe('LeaderElection, acquiring', () => {
  it('is idle, and no leader, before it begins', () => {
    const { election, identity } = new World().candidate('pod-1');
    expect(election.remaining()).to.equal(0);
    expect(identity).to.match(/^pod-1_[0-9a-f-]{36}$/);
  });

  it('makes the lease where there is none', async () => {
    const world = new World();
    const now = formatMicroTime(world.clock.now());
    const { identity, registry } = await world.leader();
    expect(world.lease()['spec']).to.deep.equal({
      holderIdentity: identity,
      leaseDurationSeconds: 15,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    });
    expect(now).to.equal('2026-11-21T03:25:00.000000Z');
    expect(await registry.metrics()).to.contain(`leader_election_master_status{name="${LEASE.name}"} 1`);
  });

  it('takes a lease that was given up at once and counts the transition', async () => {
    const world = new World();
    world.write(held(''));
    const { identity } = await world.leader();
    expect(world.spec()).to.include({ holderIdentity: identity, leaseTransitions: 4 });
    expect(world.spec().acquireTime).to.equal(formatMicroTime(world.clock.now()));
  });

  it('takes a lease that says nothing', async () => {
    const world = new World();
    world.write({});
    await world.leader();
    expect(world.spec().leaseTransitions).to.equal(1);
  });

  it('waits the whole duration from when it saw the lease, however old the record says it is', async () => {
    const world = new World();
    world.write(held('pod-0'));
    const candidate = world.candidate().start();
    await world.clock.advance(15_000);
    expect(candidate.state).to.equal('waiting');
    expect(await candidate.isMaster()).to.equal(0);
    // The retry period with all its jitter.
    await world.clock.advance(4_400);
    expect(candidate.state).to.equal('leading');
    expect(world.spec()).to.include({ holderIdentity: candidate.identity, leaseTransitions: 4 });
    await candidate.stop();
  });

  it('waits as long as the holder wrote, not as long as itself is set to', async () => {
    const world = new World();
    world.write(held('pod-0', { leaseDurationSeconds: 60 }));
    const candidate = world.candidate().start();
    await world.clock.advance(60_000);
    expect(candidate.state).to.equal('waiting');
    await world.clock.advance(4_400);
    expect(candidate.state).to.equal('leading');
    await candidate.stop();
  });

  it('waits anew after every change of the record, even with a renewTime that stands still or goes back', async () => {
    const world = new World();
    world.write(held('pod-0'));
    const candidate = world.candidate().start();
    for (let renewal = 0; renewal < 10; renewal++) {
      await world.clock.advance(10_000);
      world.write(held('pod-0', { renewTime: `201${9 - renewal}-01-01T00:00:00.000000Z` }));
      expect(candidate.state, `after renewal ${renewal}`).to.equal('waiting');
    }
    await world.clock.advance(15_000 + 2 * 4_400);
    expect(candidate.state).to.equal('leading');
    await candidate.stop();
  });

  it('takes a change of the metadata alone for no sign of life', async () => {
    const world = new World();
    world.write(held('pod-0'));
    const candidate = world.candidate().start();
    for (let second = 0; second < 15; second++) {
      world.server.storage.mergePatch(world.server.kind('leases'), LEASE, {
        metadata: { labels: { at: `${second}` } },
      });
      await world.clock.advance(1_000);
    }
    await world.clock.advance(4_400);
    expect(candidate.state).to.equal('leading');
    await candidate.stop();
  });

  it('asks again after the retry period and up to 1.2 times that more', async () => {
    const world = new World();
    world.write(held('pod-0', { leaseDurationSeconds: 10_000 }));
    const candidate = world.candidate().start();
    await world.clock.advance(1_000_000);
    const times = world.server.requests.map(({ at }) => at);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? NaN));
    expect(Math.min(...gaps)).to.be.within(2_000, 2_050);
    expect(Math.max(...gaps)).to.be.within(4_350, 4_400);
    await candidate.stop();
    expect(world.clock.pendingTimers()).to.deep.equal([]);
  });

  it('goes on while the server fails or hangs, and says so', async () => {
    const world = new World();
    const candidate = world.candidate();
    candidate.intercept = unavailable;
    candidate.start();
    await world.clock.advance(20_000);
    candidate.intercept = hang;
    await world.clock.advance(20_000);
    expect(candidate.state).to.equal('waiting');
    expect(candidate.logger.said('Failed to acquire the lease')).to.have.length.within(6, 16);
    candidate.intercept = () => undefined;
    await world.clock.advance(10_000);
    expect(candidate.state).to.equal('leading');
    await candidate.stop();
  });

  it('says what is wrong with a lease that cannot be read, and goes on', async () => {
    const world = new World();
    world.server.storage.create(world.server.kind('leases'), LEASE.namespace, {
      metadata: { name: LEASE.name },
      spec: { holderIdentity: 7 },
    });
    const candidate = world.candidate().start();
    await world.clock.settle();
    const [line] = candidate.logger.said('Failed to acquire the lease');
    expect(line?.error).to.have.property('message').that.contains('spec.holderIdentity has the wrong type');
    world.write(held(''));
    await world.clock.advance(4_400);
    expect(candidate.state).to.equal('leading');
    await candidate.stop();
  });

  it('leaves one winner of a race', async () => {
    for (const before of [undefined, held('')]) {
      const world = new World();
      if (before !== undefined) world.write(before);
      world.server.latency = 50;
      const candidates = ['pod-1', 'pod-2', 'pod-3'].map((name) => world.candidate(name).start());
      await world.clock.advance(20_000);
      expect(candidates.filter(({ state }) => state === 'leading')).to.have.length(1);
      await Promise.all([...candidates.map((candidate) => candidate.stop()), world.clock.advance(60_000)]);
    }
  });

  it('stops at once and leaves another’s lease alone', async () => {
    const world = new World();
    world.write(held('pod-0'));
    const before = world.lease();
    const candidate = world.candidate().start();
    await world.clock.advance(1_000);
    await candidate.stop();
    expect(world.lease()).to.deep.equal(before);
    expect(world.clock.pendingTimers()).to.deep.equal([]);
  });

  it('gives up what it got without knowing, when it is stopped before the answer', async () => {
    const world = new World();
    world.write(held(''));
    const candidate = world.candidate();
    candidate.intercept = async (request) => {
      if (request.method !== 'PATCH') return undefined;
      candidate.intercept = () => undefined;
      await world.server.send(request);
      return hang();
    };
    candidate.start();
    await world.clock.settle();
    expect(world.spec().holderIdentity).to.equal(candidate.identity);
    await candidate.stop();
    expect(world.spec().holderIdentity).to.equal('');
    expect(candidate.logger.lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
  });

  it('is no leader by an answer that comes after it was stopped', async () => {
    const world = new World();
    world.write(held(''));
    const client = createKubeClient({ transport: world.server, clock: world.clock });
    const { signal: deaf } = new AbortController();
    const election = new LeaderElection({
      kube: {
        ...client,
        mergePatch: async (resource, key, patch) => {
          await new Promise<void>((resolve) => world.clock.after(1_000, resolve));
          return client.mergePatch(resource, key, patch, { signal: deaf });
        },
      },
      clock: world.clock,
      random: world.random,
      logger: new MemoryLogger(),
      lease: LEASE,
      hostname: 'pod-1',
    });
    const stopping = new AbortController();
    const acquired = election.acquire(stopping.signal).catch((error: unknown) => error);
    await world.clock.advance(500);
    const reason = new Error('stop');
    stopping.abort(reason);
    expect(await acquired).to.equal(reason);
    await election.release();
    await world.clock.advance(1_000);
    expect(world.spec().holderIdentity, 'the answer came').to.equal(election.identity);
    expect(election.remaining()).to.equal(0);
  });
});

describe('LeaderElection, holding', () => {
  it('renews every retry period, keeping when it acquired and how often the lease changed hands', async () => {
    const world = new World();
    const leader = await world.leader();
    const first = world.spec();
    await world.clock.advance(60_000);
    expect(world.server.requests.filter(({ method }) => method === 'PATCH')).to.have.length(30);
    expect(world.server.requests.filter(({ method }) => method === 'GET')).to.have.length(1);
    expect(world.spec()).to.deep.equal({ ...first, renewTime: formatMicroTime(world.clock.now()) });
    expect(leader.election.remaining()).to.equal(15_000);
    await leader.stop();
  });

  it('counts what remains from before the renewal was sent', async () => {
    const world = new World();
    const leader = await world.leader();
    world.server.latency = 3_000;
    await world.clock.advance(2_000);
    expect(leader.election.remaining()).to.equal(13_000);
    await world.clock.advance(2_999);
    expect(leader.election.remaining()).to.equal(10_001);
    await world.clock.advance(1);
    expect(leader.election.remaining()).to.equal(12_000);
    world.server.latency = 0;
    await leader.stop();
  });

  it('gets over failures that are shorter than the renew deadline', async () => {
    const world = new World();
    const leader = await world.leader();
    leader.intercept = unavailable;
    await world.clock.advance(9_000);
    expect(leader.election.remaining()).to.equal(6_000);
    leader.intercept = () => undefined;
    await world.clock.advance(2_000);
    expect(leader.state).to.equal('leading');
    expect(leader.election.remaining()).to.be.above(13_000);
    await leader.stop();
  });

  for (const [how, intercept] of [
    ['fails', unavailable],
    ['hangs', hang],
    ['cannot be reached', () => new Error('connect ECONNREFUSED')],
  ] as const)
    it(`is lost, well before anybody takes the lease, when the server ${how} for the renew deadline`, async () => {
      const world = new World();
      const leader = await world.leader();
      const lostAt = (): boolean => leader.state === 'lost';
      leader.intercept = intercept;
      await world.clock.runUntil(lostAt, { limitMs: 20_000 });
      expect(world.clock.monotonic()).to.equal(12_000);
      expect(leader.error).to.be.instanceOf(LeadershipLost);
      expect(leader.election.remaining()).to.equal(0);
      expect(await leader.isMaster()).to.equal(0);
      expect(world.spec().holderIdentity, 'what may still be under way keeps the lease').to.equal(leader.identity);
    });

  it('is lost at once when somebody else holds the lease', async () => {
    const world = new World();
    const leader = await world.leader();
    world.write(held('pod-9'));
    await world.clock.advance(2_000);
    expect(leader.state).to.equal('lost');
    expect(leader.error).to.have.property('message', 'the lease was taken by pod-9');
    expect(world.spec().holderIdentity).to.equal('pod-9');
  });

  it('looks again when the lease was written by another hand but still is its own', async () => {
    const world = new World();
    const leader = await world.leader();
    world.server.storage.mergePatch(world.server.kind('leases'), LEASE, { metadata: { labels: { touched: 'yes' } } });
    await world.clock.advance(2_000);
    expect(leader.state).to.equal('leading');
    expect(leader.election.remaining()).to.equal(15_000);
    expect(world.lease().metadata.labels).to.deep.equal({ touched: 'yes' });
    expect(world.spec().leaseTransitions).to.equal(0);
    expect(await leader.registry.metrics()).to.contain(`leader_election_slowpath_total{name="${LEASE.name}"} 1`);
    await leader.stop();
  });

  it('renews on although the answer to a renewal got lost', async () => {
    const world = new World();
    const leader = await world.leader();
    leader.intercept = async (request) => {
      leader.intercept = () => undefined;
      await world.server.send(request);
      return new Error('socket hang up');
    };
    await world.clock.advance(4_000);
    expect(leader.state).to.equal('leading');
    expect(leader.election.remaining()).to.equal(15_000);
    await leader.stop();
  });

  it('makes a lease anew that was deleted', async () => {
    const world = new World();
    const leader = await world.leader();
    world.server.storage.delete(world.server.kind('leases'), LEASE, {});
    await world.clock.advance(4_000);
    expect(leader.state).to.equal('leading');
    expect(world.spec().holderIdentity).to.equal(leader.identity);
    await leader.stop();
  });

  it('does not mind a wall clock that jumps', async () => {
    const world = new World();
    const leader = await world.leader();
    const other = world.candidate('pod-2', 3_600_000).start();
    for (const jump of [7_200_000, -86_400_000]) {
      world.clock.jumpWallClock(jump);
      await world.clock.advance(30_000);
      expect([leader.state, other.state]).to.deep.equal(['leading', 'waiting']);
    }
    await Promise.all([leader.stop(), other.stop()]);
  });
});

describe('LeaderElection, releasing', () => {
  it('empties the holder, so that the next one need not wait', async () => {
    const world = new World();
    const leader = await world.leader('pod-1');
    const next = world.candidate('pod-2').start();
    await world.clock.advance(10_000);
    await leader.stop();
    expect(world.spec()).to.include({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect(leader.election.remaining()).to.equal(0);
    expect(await leader.isMaster()).to.equal(0);
    await world.clock.advance(4_400);
    expect(next.state).to.equal('leading');
    expect(world.spec().leaseTransitions).to.equal(1);
    await next.stop();
    expect(world.clock.pendingTimers()).to.deep.equal([]);
  });

  it('is given up by nobody who lost it', async () => {
    const world = new World();
    const leader = await world.leader();
    world.write(held('pod-9'));
    await world.clock.advance(2_000);
    const requests = world.server.requests.length;
    await leader.election.release();
    expect(world.server.requests).to.have.length(requests);
  });

  it('never throws, whatever the server does', async () => {
    for (const intercept of [unavailable, hang]) {
      const world = new World();
      const leader = await world.leader();
      leader.intercept = intercept;
      const stopped = leader.stop();
      await world.clock.advance(10_000);
      await stopped;
      expect(leader.logger.said('Failed to release the lease')).to.have.length(1);
      expect(world.spec().holderIdentity).to.equal(leader.identity);
      expect(world.clock.pendingTimers()).to.deep.equal([]);
    }
  });

  it('does nothing where nothing was begun', async () => {
    const world = new World();
    await world.candidate().election.release();
    expect(world.server.requests).to.deep.equal([]);
  });
});

describe('checkTimings', () => {
  const good: ElectionTimings = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 };

  it('takes what leaves room to retry', () => {
    checkTimings(good);
    checkTimings({ leaseDuration: 1_000, renewDeadline: 700, retryPeriod: 500 });
  });

  it('refuses the rest and names the flag', () => {
    for (const [timings, problem] of [
      [{ ...good, leaseDuration: 10_000 }, '--leader-elect-lease-duration must be greater than'],
      [{ ...good, leaseDuration: NaN }, '--leader-elect-lease-duration must be at least 1s'],
      [{ ...good, retryPeriod: 0 }, '--leader-elect-retry-period must be greater than zero'],
      [{ ...good, retryPeriod: NaN }, '--leader-elect-retry-period must be greater than zero'],
      [{ ...good, renewDeadline: 2_400 }, '--leader-elect-renew-deadline must be greater than 1.2 times'],
      [{ ...good, renewDeadline: NaN }, '--leader-elect-lease-duration must be greater than'],
    ] as const)
      expect(() => checkTimings(timings), JSON.stringify(timings)).to.throw(problem);
  });

  it('never writes a duration shorter than the one counted on', async () => {
    const world = new World();
    const timings: ElectionTimings = { leaseDuration: 2_500, renewDeadline: 2_000, retryPeriod: 500 };
    const candidate = world.candidate('pod-1', 0, timings).start();
    await world.clock.settle();
    expect(world.spec().leaseDurationSeconds).to.equal(3);
    await candidate.stop();
  });
});

type Fault = 'none' | 'fails' | 'hangs' | 'answerLost' | 'slow';
interface Phase {
  readonly span: Ms;
  /** What ails the way of each candidate to the server. */
  readonly faults: readonly Fault[];
}

const aFault = fc.constantFrom<Fault>('none', 'none', 'fails', 'hangs', 'answerLost', 'slow');
const aPhase: fc.Arbitrary<Phase> = fc.record({
  span: fc.integer({ min: 100, max: 25_000 }),
  faults: fc.tuple(aFault, aFault, aFault),
});

describe('LeaderElection, whatever happens', () => {
  function ail(candidate: Candidate, world: World, fault: Fault): void {
    candidate.intercept = async (request) => {
      switch (fault) {
        case 'none':
          return undefined;
        case 'fails':
          return unavailable();
        case 'hangs':
          return hang();
        case 'answerLost':
          await world.server.send(request);
          return new Error('socket hang up');
        case 'slow':
          await new Promise<void>((resolve) => world.clock.after(world.random.next() * 8_000, resolve));
          return undefined;
      }
    };
  }

  it('there are never two leaders, and soon there is one', async () => {
    let leaders = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(aPhase, { minLength: 1, maxLength: 8 }), fc.integer(), async (phases, seed) => {
        const world = new World(seed);
        const skews = [0, 40_000, -40_000];
        const candidates = skews.map((skew, index) => world.candidate(`pod-${index}`, skew).start());
        const look = (): void => {
          const leading = candidates.filter(({ election }) => election.remaining() > 0);
          expect(leading.map(({ identity }) => identity)).to.have.length.at.most(1);
        };
        for (const { span, faults } of phases) {
          candidates.forEach((candidate, index) => ail(candidate, world, faults[index] ?? 'none'));
          for (let passed = 0; passed < span; passed += 500) {
            await world.clock.advance(500);
            look();
            // A process that lost its lease ends; its Deployment starts another.
            candidates.forEach((candidate, index) => {
              if (candidate.state === 'lost')
                candidates[index] = world.candidate(`pod-${index}`, skews[index] ?? 0).start();
            });
          }
        }
        for (const candidate of candidates) candidate.intercept = () => undefined;
        // A lease that must expire, a retry with its jitter, and a request that still hangs.
        await world.clock.advance(15_000 + 4_400 + 5_000);
        look();
        leaders += candidates.filter(({ state }) => state === 'leading').length;
        expect(candidates.filter(({ state }) => state === 'leading')).to.have.length(1);
        await Promise.all([...candidates.map((candidate) => candidate.stop()), world.clock.advance(60_000)]);
      }),
      { numRuns: 60 },
    );
    expect(leaders).to.be.at.least(60);
  }).timeout(60_000);
});

describe('the path of the lease', () => {
  it('is the one that RBAC rules name', async () => {
    const world = new World();
    const leader = await world.leader();
    expect(world.server.requests[0]).to.include({ method: 'GET', path: PATH });
    await leader.stop();
  });
});
