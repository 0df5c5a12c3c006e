import { expect } from 'chai';
import { type ElectionEnvironment, heldLease, newEnvironmentForEachTest, unavailable } from '../testing/election.ts';

const on = (identity: string, what: string): string =>
  `Lease example-system/controller-leader-election-example: Normal LeaderElection: ${identity} ${what}`;

let environment: ElectionEnvironment;

describe('Events on the Lease', () => {
  newEnvironmentForEachTest((made) => (environment = made));

  it('name the process that becomes leader, and the process that stops leading', async () => {
    const leader = await environment.leader('pod-1');
    const next = environment.candidate('pod-2').start();
    await environment.clock.advance(10_000);
    expect(leader.events).to.deep.equal([on(leader.identity, 'became leader')]);
    expect(next.events, 'of who waits').to.deep.equal([]);
    await leader.stop();
    expect(leader.events.slice(1)).to.deep.equal([on(leader.identity, 'stopped leading')]);
    await environment.clock.advance(4_400);
    expect(next.events).to.deep.equal([on(next.identity, 'became leader')]);
  });

  it('name the leader that loses the lease', async () => {
    const leader = await environment.leader();
    environment.write(heldLease('pod-9'));
    await environment.clock.advance(2_000);
    expect(leader.events.slice(1)).to.deep.equal([on(leader.identity, 'stopped leading')]);
  });
});

describe('The health check of the leader election', () => {
  newEnvironmentForEachTest((made) => (environment = made));

  const ranOut = (seconds: number): string =>
    `the lease example-system/controller-leader-election-example ran out ${seconds} s ago and was not renewed`;

  it('passes before, during and after a regular leadership', async () => {
    environment.write(heldLease('pod-0'));
    const candidate = environment.candidate('pod-1');
    expect(candidate.election.healthCheck.check()).to.equal(undefined);
    candidate.intercept = unavailable;
    candidate.start();
    await environment.clock.advance(100_000);
    expect(candidate.election.healthCheck.check(), 'of who waits').to.equal(undefined);
    candidate.intercept = () => undefined;
    await environment.clock.advance(100_000);
    expect(candidate.state).to.equal('leading');
    expect(candidate.election.healthCheck.check()).to.equal(undefined);
    await candidate.stop();
    await environment.clock.advance(100_000);
    expect(candidate.election.healthCheck.check()).to.equal(undefined);
  });

  it('fails 20 s after the lease has expired without a renewal', async () => {
    const { election } = environment.candidate();
    await election.acquire(new AbortController().signal);
    await environment.clock.advance(35_000);
    expect(election.healthCheck.check()).to.equal(undefined);
    await environment.clock.advance(1);
    expect(election.healthCheck.check()).to.equal(ranOut(20));
    await environment.clock.advance(9_999);
    expect(election.healthCheck.check()).to.equal(ranOut(30));
    expect(election.healthCheck.name).to.equal('leaderElection');
  });
});
