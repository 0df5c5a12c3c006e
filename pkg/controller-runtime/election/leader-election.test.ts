import { expect } from 'chai';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { formatMicroTime } from '../env/timestamp.ts';
import { createKubeClient } from '../client/client.ts';
import { json } from '../testing/fake-api-server.ts';
import { GRANT } from '../testing/fixtures.ts';
import { LeaderElection } from './leader-election.ts';
import type { ElectionTimings } from './timings.ts';
import {
  type ElectionEnvironment,
  LEASE,
  hang,
  heldLease,
  newEnvironmentForEachTest,
  releasedLease,
  unavailable,
} from '../testing/election.ts';

// Many test cases of this file come from client-go's tools/leaderelection.

const PATH = `/apis/coordination.k8s.io/v1/namespaces/${LEASE.namespace}/leases/${LEASE.name}`;

let environment: ElectionEnvironment;

describe('A candidate', () => {
  newEnvironmentForEachTest((made) => (environment = made));

  it('does not lead before it acquires the lease', () => {
    const { election, identity } = environment.candidate('pod-1');
    expect(election.remaining()).to.equal(0);
    expect(identity).to.match(/^pod-1_[0-9a-f-]{36}$/);
  });

  it('creates the Lease if there is none', async () => {
    const now = formatMicroTime(environment.clock.now());
    const { identity, registry } = await environment.leader();
    expect(environment.lease()['spec']).to.deep.equal({
      holderIdentity: identity,
      leaseDurationSeconds: 15,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: 0,
    });
    expect(now).to.equal('2026-11-21T03:25:00.000000Z');
    expect(await registry.metrics()).to.contain(`leader_election_master_status{name="${LEASE.name}"} 1`);
  });

  it('takes a released lease at once and counts the transition', async () => {
    environment.write(releasedLease());
    const { identity } = await environment.leader();
    expect(environment.spec()).to.include({ holderIdentity: identity, leaseTransitions: 4 });
    expect(environment.spec().acquireTime).to.equal(formatMicroTime(environment.clock.now()));
  });

  it('takes a Lease with an empty spec', async () => {
    environment.write({});
    await environment.leader();
    expect(environment.spec().leaseTransitions).to.equal(1);
  });

  for (const seconds of [15, 60])
    it(`waits for the ${seconds} s that the holder wrote from when it first read the Lease, whatever renewTime says`, async () => {
      environment.write(heldLease('pod-0', { leaseDurationSeconds: seconds }));
      const candidate = environment.candidate().start();
      await environment.clock.advance(seconds * 1_000);
      expect(candidate.state).to.equal('waiting');
      expect(await candidate.isMaster()).to.equal(0);
      // The longest pause between two attempts: the retry period plus the largest jitter.
      await environment.clock.advance(4_400);
      expect(candidate.state).to.equal('leading');
      expect(environment.spec()).to.include({ holderIdentity: candidate.identity, leaseTransitions: 4 });
    });

  it('waits again after every change of the spec, even if renewTime stays the same or goes back', async () => {
    environment.write(heldLease('pod-0'));
    const candidate = environment.candidate().start();
    for (let renewal = 0; renewal < 10; renewal++) {
      await environment.clock.advance(10_000);
      environment.write(heldLease('pod-0', { renewTime: `201${9 - renewal}-01-01T00:00:00.000000Z` }));
      expect(candidate.state, `after renewal ${renewal}`).to.equal('waiting');
    }
    await environment.clock.advance(15_000 + 2 * 4_400);
    expect(candidate.state).to.equal('leading');
  });

  it('does not count a change of the metadata as a renewal', async () => {
    environment.write(heldLease('pod-0'));
    const candidate = environment.candidate().start();
    for (let second = 0; second < 15; second++) {
      environment.server.storage.mergePatch(environment.server.kind('leases'), LEASE, {
        metadata: { labels: { at: `${second}` } },
      });
      await environment.clock.advance(1_000);
    }
    await environment.clock.advance(4_400);
    expect(candidate.state).to.equal('leading');
  });

  it('makes an attempt after the retry period and up to 1.2 times that period more', async () => {
    environment.write(heldLease('pod-0', { leaseDurationSeconds: 10_000 }));
    environment.candidate().start();
    await environment.clock.advance(1_000_000);
    const times = environment.server.requests.flatMap(({ path, at }) => (path === PATH ? [at] : []));
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? NaN));
    expect(Math.min(...gaps)).to.be.within(2_000, 2_050);
    expect(Math.max(...gaps)).to.be.within(4_350, 4_400);
  });

  it('keeps trying while the server fails or hangs, and logs it', async () => {
    const candidate = environment.candidate();
    candidate.intercept = unavailable;
    candidate.start();
    await environment.clock.advance(20_000);
    candidate.intercept = hang;
    await environment.clock.advance(20_000);
    expect(candidate.state).to.equal('waiting');
    expect(candidate.logger.linesWith('Failed to acquire the lease')).to.have.length.within(6, 16);
    candidate.intercept = () => undefined;
    await environment.clock.advance(10_000);
    expect(candidate.state).to.equal('leading');
  });

  it('logs the wrong field of a Lease that it cannot decode, and keeps trying', async () => {
    environment.server.storage.create(environment.server.kind('leases'), LEASE.namespace, {
      metadata: { name: LEASE.name },
      spec: { holderIdentity: 7 },
    });
    const candidate = environment.candidate().start();
    await environment.clock.settle();
    const [line] = candidate.logger.linesWith('Failed to acquire the lease');
    expect(line?.error).to.have.property('message').that.contains('spec.holderIdentity: expected string, got 7');
    environment.write(releasedLease());
    await environment.clock.advance(4_400);
    expect(candidate.state).to.equal('leading');
  });

  for (const [situation, code, message, remedy] of [
    [
      'its namespace does not exist',
      404,
      `namespaces "${LEASE.namespace}" not found`,
      `Create namespace ${LEASE.namespace}`,
    ],
    ['it lacks a permission', 403, 'User "example" cannot create resource "leases"', GRANT],
  ] as const)
    it(`logs a remedy when ${situation}, and keeps trying`, async () => {
      const candidate = environment.candidate();
      candidate.intercept = ({ method }) =>
        method === 'POST' ? json(code, { kind: 'Status', code, message }) : undefined;
      candidate.start();
      await environment.clock.settle();
      const [line] = candidate.logger.linesWith('Failed to acquire the lease');
      expect(line?.error).to.have.property('message').that.contains(message);
      expect(line?.keys).to.include({ remedy });
      candidate.intercept = () => undefined;
      await environment.clock.advance(4_400);
      expect(candidate.state).to.equal('leading');
    });

  it('stops at once and leaves the lease of another process unchanged', async () => {
    environment.write(heldLease('pod-0'));
    const before = environment.lease();
    const candidate = environment.candidate().start();
    await environment.clock.advance(1_000);
    await candidate.stop();
    expect(environment.lease()).to.deep.equal(before);
  });

  it('releases a lease that it took with a write whose response came after the stop', async () => {
    environment.write(releasedLease());
    const candidate = environment.candidate();
    candidate.intercept = async (request) => {
      if (request.method !== 'PATCH') return undefined;
      candidate.intercept = () => undefined;
      await environment.server.send(request);
      return hang();
    };
    candidate.start();
    await environment.clock.settle();
    expect(environment.spec().holderIdentity).to.equal(candidate.identity);
    await candidate.stop();
    expect(environment.spec().holderIdentity).to.equal('');
    expect(candidate.logger.lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
  });

  it('does not become leader by a response after the stop', async () => {
    environment.write(releasedLease());
    const client = createKubeClient({ transport: environment.server, clock: environment.clock });
    const { signal: deaf } = new AbortController();
    const election = new LeaderElection({
      kube: {
        ...client,
        mergePatch: async (resource, key, patch) => {
          await new Promise<void>((resolve) => environment.clock.after(1_000, resolve));
          return client.mergePatch(resource, key, patch, { signal: deaf });
        },
      },
      clock: environment.clock,
      random: environment.random,
      logger: new MemoryLogger(),
      lease: LEASE,
      hostname: 'pod-1',
    });
    const stopping = new AbortController();
    const acquired = election.acquire(stopping.signal).catch((error: unknown) => error);
    await environment.clock.advance(500);
    const reason = new Error('stop');
    stopping.abort(reason);
    expect(await acquired).to.equal(reason);
    await election.release();
    await environment.clock.advance(1_000);
    expect(environment.spec().holderIdentity, 'the response came').to.equal(election.identity);
    expect(election.remaining()).to.equal(0);
  });
});

describe('The written Lease', () => {
  newEnvironmentForEachTest((made) => (environment = made));

  it('has a duration that is rounded up to whole seconds', async () => {
    const timings: ElectionTimings = { leaseDuration: 2_500, renewDeadline: 2_000, retryPeriod: 500 };
    environment.candidate('pod-1', 0, timings).start();
    await environment.clock.settle();
    expect(environment.spec().leaseDurationSeconds).to.equal(3);
  });
});
