import { expect } from 'chai';
import { errorMessage } from '../env/error-text.ts';
import { formatMicroTime } from '../env/timestamp.ts';
import { LeadershipLost } from './leader-election.ts';
import { LEASE, World, hang, held, unavailable } from './testing/election.ts';

// The cases of client-go's tools/leaderelection.

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
    expect(leader.error).to.have.property('message', 'leader election lost: the lease was taken by pod-9');
    expect(world.spec().holderIdentity).to.equal('pod-9');
  });

  for (const [how, spec] of [
    ['by another', held('')],
    ['and is its own again, by another hand', { leaseTransitions: 9 }],
  ] as const)
    it(`is lost when the lease was somebody else's meanwhile: given up ${how}`, async () => {
      const world = new World();
      const leader = await world.leader();
      world.write(spec);
      const { renewTime } = world.spec();
      await world.clock.advance(2_000);
      expect(leader.state).to.equal('lost');
      expect(errorMessage(leader.error)).to.contain('taken by somebody who has given it up since');
      expect(world.spec().renewTime, 'it is left as it is').to.equal(renewTime);
    });

  describe('that tries to renew longer than the lease lasts', () => {
    const patient = { leaseDuration: 15_000, renewDeadline: 14_900, retryPeriod: 2_000 };

    it('may not act for that time, and leads on when nobody has taken the lease', async () => {
      const world = new World();
      const leader = await world.leader('pod-1', patient);
      leader.intercept = unavailable;
      await world.clock.advance(15_500);
      expect(leader.election.remaining()).to.equal(-500);
      leader.intercept = () => undefined;
      await world.clock.advance(2_000);
      expect(leader.state).to.equal('leading');
      expect(leader.election.remaining()).to.be.above(13_000);
      expect(world.spec().leaseTransitions).to.equal(0);
      await leader.stop();
    });

    it('is lost when the lease is gone by then: somebody may have led', async () => {
      const world = new World();
      const leader = await world.leader('pod-1', patient);
      leader.intercept = unavailable;
      await world.clock.advance(15_500);
      world.server.storage.delete(world.server.kind('leases'), LEASE, {});
      leader.intercept = () => undefined;
      await world.clock.advance(1_000);
      expect(errorMessage(leader.error)).to.equal('leader election lost: the lease ran out, and is gone');
    });
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

describe('LeaderElection, on a machine that was suspended', () => {
  it('counts the time that only the wall clock has seen, until it has renewed', async () => {
    const world = new World();
    const leader = await world.leader();
    await world.clock.advance(500);
    world.clock.jumpWallClock(14_499);
    expect(leader.election.remaining()).to.equal(1);
    world.clock.jumpWallClock(3_600_000);
    expect(leader.election.remaining()).to.be.below(0);
    await world.clock.advance(1_500);
    expect(leader.state).to.equal('leading');
    expect(leader.election.remaining()).to.equal(15_000);
    await leader.stop();
  });

  it('gains nothing by a wall clock that is set back', async () => {
    const world = new World();
    const leader = await world.leader();
    world.clock.jumpWallClock(-3_600_000);
    await world.clock.advance(1_000);
    expect(leader.election.remaining()).to.equal(14_000);
    await leader.stop();
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
