import { expect } from 'chai';
import { MemoryLogger } from '../env/testing/memory-logger.ts';
import { formatMicroTime } from '../env/timestamp.ts';
import { createKubeClient } from '../kube/client.ts';
import { json } from '../kube/testing/fake-api-server.ts';
import { LeaderElection, checkTimings } from './leader-election.ts';
import type { ElectionTimings } from './leader-election.ts';
import { LEASE, World, hang, held, unavailable } from './testing/election.ts';

// The cases of client-go's tools/leaderelection.

const PATH = `/apis/coordination.k8s.io/v1/namespaces/${LEASE.namespace}/leases/${LEASE.name}`;

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
    const times = world.server.requests.flatMap(({ path, at }) => (path === PATH ? [at] : []));
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

  for (const { what, code, reason, message, remedy } of [
    {
      what: 'its namespace does not exist',
      code: 404,
      reason: 'NotFound',
      message: `namespaces "${LEASE.namespace}" not found`,
      remedy: `Create namespace ${LEASE.namespace}`,
    },
    {
      what: 'it may not make one',
      code: 403,
      reason: 'Forbidden',
      message: 'leases.coordination.k8s.io is forbidden: User "capaf" cannot create resource "leases" in API group …',
      remedy: "Apply the manager's roles and role bindings again (config/rbac), or put right what was changed in them",
    },
  ])
    it(`says what to do where ${what}, and goes on once that is mended`, async () => {
      const world = new World();
      const candidate = world.candidate();
      candidate.intercept = ({ method }) =>
        method === 'POST' ? json(code, { kind: 'Status', code, reason, message }) : undefined;
      candidate.start();
      await world.clock.settle();
      const [line] = candidate.logger.said('Failed to acquire the lease');
      expect(line?.error).to.have.property('message').that.contains(message);
      expect(line?.keys).to.include({ remedy });
      candidate.intercept = () => undefined;
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

describe('the path of the lease', () => {
  it('is the one that RBAC rules name', async () => {
    const world = new World();
    const leader = await world.leader();
    expect(world.server.requests[0]).to.include({ method: 'GET', path: PATH });
    await leader.stop();
  });
});
