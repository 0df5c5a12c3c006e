import { expect } from 'chai';
import { World, hang, held, unavailable } from './testing/election.ts';

const on = (identity: string, what: string): string =>
  `Lease capaf-system/controller-leader-election-capaf: Normal LeaderElection: ${identity} ${what}`;

describe('LeaderElection, in Events on the Lease', () => {
  it('says who began to lead, and who stopped when it gave the lease up', async () => {
    const world = new World();
    const leader = await world.leader('pod-1');
    const next = world.candidate('pod-2').start();
    await world.clock.advance(10_000);
    expect(leader.told).to.deep.equal([on(leader.identity, 'became leader')]);
    expect(next.told, 'of who waits').to.deep.equal([]);
    await leader.stop();
    expect(leader.told.slice(1)).to.deep.equal([on(leader.identity, 'stopped leading')]);
    await world.clock.advance(4_400);
    expect(next.told).to.deep.equal([on(next.identity, 'became leader')]);
    await next.stop();
  });

  it('says who lost it', async () => {
    const world = new World();
    const leader = await world.leader();
    world.write(held('pod-9'));
    await world.clock.advance(2_000);
    expect(leader.told.slice(1)).to.deep.equal([on(leader.identity, 'stopped leading')]);
  });

  it('says nothing of who never led', async () => {
    const world = new World();
    world.write(held('pod-0'));
    const candidate = world.candidate().start();
    await world.clock.advance(5_000);
    await candidate.stop();
    expect(candidate.told).to.deep.equal([]);
  });
});

describe('LeaderElection, in /healthz', () => {
  const ranOut = (seconds: number): string =>
    `the lease capaf-system/controller-leader-election-capaf ran out ${seconds} s ago and was not renewed`;

  it('is well before it leads, while it leads, and when it has stopped', async () => {
    const world = new World();
    world.write(held('pod-0'));
    const candidate = world.candidate('pod-1');
    expect(candidate.election.healthCheck.check()).to.equal(undefined);
    candidate.intercept = unavailable;
    candidate.start();
    await world.clock.advance(100_000);
    expect(candidate.election.healthCheck.check(), 'of who waits').to.equal(undefined);
    candidate.intercept = () => undefined;
    await world.clock.advance(100_000);
    expect(candidate.state).to.equal('leading');
    expect(candidate.election.healthCheck.check()).to.equal(undefined);
    await candidate.stop();
    await world.clock.advance(100_000);
    expect(candidate.election.healthCheck.check()).to.equal(undefined);
  });

  it('fails when nothing was renewed for 20 s after the lease ran out, as if something held the process up', async () => {
    const world = new World();
    const { election } = world.candidate();
    await election.acquire(new AbortController().signal);
    await world.clock.advance(35_000);
    expect(election.healthCheck.check()).to.equal(undefined);
    await world.clock.advance(1);
    expect(election.healthCheck.check()).to.equal(ranOut(20));
    await world.clock.advance(9_999);
    expect(election.healthCheck.check()).to.equal(ranOut(30));
    expect(election.healthCheck.name).to.equal('leaderElection');
  });

  it('fails when the lease is lost and the process goes on all the same', async () => {
    const world = new World();
    const leader = await world.leader();
    leader.intercept = hang;
    await world.clock.advance(35_000);
    expect(leader.state).to.equal('lost');
    expect(leader.election.healthCheck.check()).to.equal(undefined);
    await world.clock.advance(1);
    expect(leader.election.healthCheck.check()).to.equal(ranOut(20));
  });
});
