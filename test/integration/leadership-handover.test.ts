import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import type { Contender } from '../world/contender.ts';
import { startContender } from '../world/contender.ts';
import type { LeaseHistory } from '../world/lease-history.ts';
import { changesOutsideTheLease, leaseHistoryOf } from '../world/lease-history.ts';
import type { World } from '../world/world.ts';
import { fargateProfile, startWorld } from '../world/world.ts';

/** What a rollout may cost, from the signal to the old leader to the first change in AWS of the new one. */
const HANDOVER_MS = 2_000;
/** With the retry period alone (2 s and up to 4.4 s) about every second would be in time by chance. */
const ROUNDS = 4;

describe('two managers with the default flags of leader election', function () {
  this.timeout(60_000);
  let world: World;
  let lease: LeaseHistory;

  before(async () => {
    world = await startWorld();
    lease = leaseHistoryOf(world);
    world.endWith(() => lease.stop());
    await world.createEksCluster('prod');
  });
  after(() => world.finish());

  const stand = (name: string): Promise<Contender> =>
    startContender(world, name, ['--leader-elect-namespace', 'default']);

  const watching = (contender: Contender): Promise<unknown> =>
    eventually(() => /"Listed and watching".* resource="leases\./.test(contender.manager.log()), {
      what: `the watch of the lease by ${contender.manager.name}`,
    });

  it('told to stop: the other leads, and changes AWS, within two seconds', async () => {
    const contenders = [await stand('zero')];
    for (let round = 1; round <= ROUNDS; round++) {
      const leader = contenders.at(-1) ?? expect.fail('there is nobody');
      await lease.takenBy(leader.identity);
      const follower = await stand(`round${round}`);
      contenders.push(follower);
      await watching(follower);

      const toldAt = Date.now();
      const stopped = world.stopManager(leader.manager);
      await eventually(() => lease.versions.some(({ holder, renewedAt }) => holder === '' && renewedAt >= toldAt), {
        what: 'the release',
        intervalMs: 20,
      });
      await world.apply(fargateProfile(`round-${round}`));
      const { acquiredAt } = await lease.takenBy(follower.identity);
      expect(acquiredAt - toldAt, `the lease of round ${round}`).to.be.at.most(HANDOVER_MS);
      const { at: changedAt } = await eventually(() => follower.calls().find(({ mutates }) => mutates) ?? false, {
        what: 'its first change',
      });
      expect(changedAt - toldAt, `the first change of round ${round}`).to.be.at.most(HANDOVER_MS);
      await stopped;
      await world.ready(`round-${round}`);
    }
    for (const { identity, calls } of contenders)
      expect(changesOutsideTheLease(lease.versions, identity, calls())).to.deep.equal([]);
  });
});
