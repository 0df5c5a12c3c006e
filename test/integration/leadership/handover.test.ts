import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import type { Candidate } from '../../world/manager/candidate.ts';
import { startCandidate } from '../../world/manager/candidate.ts';
import type { LeaseHistory } from '../../world/manager/lease-history.ts';
import { mutationsOutsideLease, leaseHistoryOf } from '../../world/manager/lease-history.ts';
import type { World } from '../../world/world.ts';
import { fargateProfile, startWorld } from '../../world/world.ts';

/**
 * The limit for the time from the SIGTERM to the old leader until the first AWS change of the new leader, in a rollout,
 * in milliseconds.
 */
const HANDOVER_MS = 2_000;
/**
 * How many times the test replaces the leader. A follower that did not watch the Lease would poll it every 2 to 4.4 s.
 * It would keep the time limit by chance in about half of the replacements, but hardly in all of them.
 */
const ROUNDS = 4;

describe('two managers with the default flags of leader election', () => {
  let world: World;
  let lease: LeaseHistory;

  before(async () => {
    world = await startWorld();
    lease = leaseHistoryOf(world);
    world.addCleanup(() => lease.stop());
    await world.createEksCluster('prod');
  });
  after(() => world.finish());

  const addContender = (name: string): Promise<Candidate> => startCandidate(world, name, []);

  const waitForLeaseWatch = (contender: Candidate): Promise<unknown> =>
    eventually(() => /"Listed and watching".* resource="leases\./.test(contender.manager.log()), {
      what: `the watch of the lease by ${contender.manager.name}`,
    });

  it('the follower leads and changes AWS within two seconds after the leader is stopped', async () => {
    const contenders = [await addContender('zero')];
    for (let round = 1; round <= ROUNDS; round++) {
      const leader = contenders.at(-1) ?? expect.fail('there is no contender');
      await lease.waitForHolder(leader.identity);
      const follower = await addContender(`round${round}`);
      contenders.push(follower);
      await waitForLeaseWatch(follower);

      const toldAt = Date.now();
      const stopped = world.stopManager(leader.manager);
      await eventually(() => lease.versions.some(({ holder, renewedAt }) => holder === '' && renewedAt >= toldAt), {
        what: 'the release',
        intervalMs: 20,
      });
      await world.apply(fargateProfile(`round-${round}`));
      const { acquiredAt } = await lease.waitForHolder(follower.identity);
      expect(acquiredAt - toldAt, `the lease of round ${round}`).to.be.at.most(HANDOVER_MS);
      const { at: changedAt } = await eventually(() => follower.calls().find(({ mutates }) => mutates) ?? false, {
        what: 'its first change',
      });
      expect(changedAt - toldAt, `the first change of round ${round}`).to.be.at.most(HANDOVER_MS);
      await stopped;
      await world.ready(`round-${round}`);
    }
    for (const { identity, calls } of contenders)
      expect(mutationsOutsideLease(lease.versions, identity, calls())).to.deep.equal([]);
  });
});
