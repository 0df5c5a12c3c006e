import { expect } from 'chai';
import { errorMessage } from '../text/error-text.ts';
import { formatMicroTime } from '../env/timestamp.ts';
import { LeadershipLost } from './leader-election.ts';
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

let environment: ElectionEnvironment;

describe('The leader', () => {
  newEnvironmentForEachTest((made) => (environment = made));

  it('renews the lease every retry period, and keeps acquireTime and leaseTransitions', async () => {
    const leader = await environment.leader();
    const first = environment.spec();
    await environment.clock.advance(60_000);
    expect(environment.server.requests.filter(({ method }) => method === 'PATCH')).to.have.length(30);
    expect(environment.server.requests.filter(({ method }) => method === 'GET')).to.have.length(1);
    expect(environment.spec()).to.deep.equal({ ...first, renewTime: formatMicroTime(environment.clock.now()) });
    expect(leader.election.remaining()).to.equal(15_000);
  });

  it('counts the remaining time from before it sent the renewal', async () => {
    const leader = await environment.leader();
    environment.server.latency = 3_000;
    await environment.clock.advance(2_000);
    expect(leader.election.remaining()).to.equal(13_000);
    await environment.clock.advance(2_999);
    expect(leader.election.remaining()).to.equal(10_001);
    await environment.clock.advance(1);
    expect(leader.election.remaining()).to.equal(12_000);
    environment.server.latency = 0;
  });

  it('survives failures that are shorter than the renew deadline', async () => {
    const leader = await environment.leader();
    leader.intercept = unavailable;
    await environment.clock.advance(9_000);
    expect(leader.election.remaining()).to.equal(6_000);
    leader.intercept = () => undefined;
    await environment.clock.advance(2_000);
    expect(leader.state).to.equal('leading');
    expect(leader.election.remaining()).to.be.above(13_000);
  });

  for (const [how, intercept] of [
    ['fails', unavailable],
    ['hangs', hang],
    ['cannot be reached', () => new Error('connect ECONNREFUSED')],
  ] as const)
    it(`loses the lease, long before a candidate can take it, when the server ${how} for the renew deadline`, async () => {
      const leader = await environment.leader();
      const lostAt = (): boolean => leader.state === 'lost';
      leader.intercept = intercept;
      await environment.clock.runUntil(lostAt, { limitMs: 20_000 });
      expect(environment.clock.monotonic()).to.equal(12_000);
      expect(leader.error).to.be.instanceOf(LeadershipLost);
      expect(leader.election.remaining()).to.equal(0);
      expect(await leader.isMaster()).to.equal(0);
      expect(environment.spec().holderIdentity, 'the lease is not released').to.equal(leader.identity);
    });

  it('loses the lease at once when another process holds it', async () => {
    const leader = await environment.leader();
    environment.write(heldLease('pod-9'));
    await environment.clock.advance(2_000);
    expect(leader.state).to.equal('lost');
    expect(leader.error).to.have.property('message', 'leader election lost: the lease was taken by pod-9');
    expect(environment.spec().holderIdentity).to.equal('pod-9');
  });

  for (const [how, spec] of [
    ['by that process', releasedLease()],
    ['and returned to the leader with more transitions', { leaseTransitions: 9 }],
  ] as const)
    it(`loses the lease when another process held it meanwhile: released ${how}`, async () => {
      const leader = await environment.leader();
      environment.write(spec);
      const { renewTime } = environment.spec();
      await environment.clock.advance(2_000);
      expect(leader.state).to.equal('lost');
      expect(errorMessage(leader.error)).to.contain('taken by another process, which has released it since');
      expect(environment.spec().renewTime, 'the Lease is unchanged').to.equal(renewTime);
    });

  describe('with a renew deadline close to the lease duration', () => {
    const patient = { leaseDuration: 15_000, renewDeadline: 14_900, retryPeriod: 2_000 };

    it('has no remaining time after the lease has expired, and leads again when no process has taken the lease', async () => {
      const leader = await environment.leader('pod-1', patient);
      leader.intercept = unavailable;
      await environment.clock.advance(15_500);
      expect(leader.election.remaining()).to.equal(-500);
      leader.intercept = () => undefined;
      await environment.clock.advance(2_000);
      expect(leader.state).to.equal('leading');
      expect(leader.election.remaining()).to.be.above(13_000);
      expect(environment.spec().leaseTransitions).to.equal(0);
    });

    it('loses the lease when the Lease is deleted after it has expired, because another process may have led', async () => {
      const leader = await environment.leader('pod-1', patient);
      leader.intercept = unavailable;
      await environment.clock.advance(15_500);
      environment.server.storage.delete(environment.server.kind('leases'), LEASE, {});
      leader.intercept = () => undefined;
      await environment.clock.advance(1_000);
      expect(errorMessage(leader.error)).to.equal('leader election lost: the lease ran out, and is gone');
    });
  });

  it('reads the Lease when another client has changed it, and renews its own record', async () => {
    const leader = await environment.leader();
    environment.server.storage.mergePatch(environment.server.kind('leases'), LEASE, {
      metadata: { labels: { touched: 'yes' } },
    });
    await environment.clock.advance(2_000);
    expect(leader.state).to.equal('leading');
    expect(leader.election.remaining()).to.equal(15_000);
    expect(environment.lease().metadata.labels).to.deep.equal({ touched: 'yes' });
    expect(environment.spec().leaseTransitions).to.equal(0);
    expect(await leader.registry.metrics()).to.contain(`leader_election_slowpath_total{name="${LEASE.name}"} 1`);
  });

  it('creates the Lease again when it is deleted', async () => {
    const leader = await environment.leader();
    environment.server.storage.delete(environment.server.kind('leases'), LEASE, {});
    await environment.clock.advance(4_000);
    expect(leader.state).to.equal('leading');
    expect(environment.spec().holderIdentity).to.equal(leader.identity);
  });

  it('is not affected by a wall clock that jumps', async () => {
    const leader = await environment.leader();
    const other = environment.candidate('pod-2', 3_600_000).start();
    for (const jump of [7_200_000, -86_400_000]) {
      environment.clock.jumpWallClock(jump);
      await environment.clock.advance(30_000);
      expect([leader.state, other.state]).to.deep.equal(['leading', 'waiting']);
    }
  });
});

describe('The leader on a machine that was suspended', () => {
  newEnvironmentForEachTest((made) => (environment = made));

  it('counts the time that only the wall clock measured, until its next renewal', async () => {
    const leader = await environment.leader();
    await environment.clock.advance(500);
    environment.clock.jumpWallClock(14_499);
    expect(leader.election.remaining()).to.equal(1);
    environment.clock.jumpWallClock(3_600_000);
    expect(leader.election.remaining()).to.be.below(0);
    await environment.clock.advance(1_500);
    expect(leader.state).to.equal('leading');
    expect(leader.election.remaining()).to.equal(15_000);
  });

  it('gains no time from a wall clock that is set back', async () => {
    const leader = await environment.leader();
    environment.clock.jumpWallClock(-3_600_000);
    await environment.clock.advance(1_000);
    expect(leader.election.remaining()).to.equal(14_000);
  });
});

describe('The release of the lease', () => {
  newEnvironmentForEachTest((made) => (environment = made));

  it('empties the holder, so that the next leader need not wait', async () => {
    const leader = await environment.leader('pod-1');
    const next = environment.candidate('pod-2').start();
    await environment.clock.advance(10_000);
    await leader.stop();
    expect(environment.spec()).to.include({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect(leader.election.remaining()).to.equal(0);
    expect(await leader.isMaster()).to.equal(0);
    await environment.clock.advance(4_400);
    expect(next.state).to.equal('leading');
    expect(environment.spec().leaseTransitions).to.equal(1);
  });

  it('does nothing after the lease is lost', async () => {
    const leader = await environment.leader();
    environment.write(heldLease('pod-9'));
    await environment.clock.advance(2_000);
    const requests = environment.server.requests.length;
    await leader.election.release();
    expect(environment.server.requests).to.have.length(requests);
  });

  for (const intercept of [unavailable, hang])
    it(`never throws, whatever the server does: ${intercept.name}`, async () => {
      const leader = await environment.leader();
      leader.intercept = intercept;
      const stopped = leader.stop();
      await environment.clock.advance(10_000);
      await stopped;
      expect(leader.logger.linesWith('Failed to release the lease')).to.have.length(1);
      expect(environment.spec().holderIdentity).to.equal(leader.identity);
      expect(environment.clock.pendingTimers()).to.deep.equal([]);
    });

  it('does nothing before the election has begun', async () => {
    await environment.candidate().election.release();
    expect(environment.server.requests).to.deep.equal([]);
  });
});
