import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { laneOf, queueIn } from '../world/queue.ts';
import type { World } from '../world/world.ts';
import { startWorld } from '../world/world.ts';

describe('the lane, when the manager is killed in the midst of a queue', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ config: { eks: { createMs: 1_500, deleteMs: 1_000 } } });
    await world.startManager();
  });
  after(() => world.finish());

  const { start, startInOrder, deleteAll, allReady, allGone, warningsOf } = queueIn(() => world);

  for (const [what, isDeletion] of [
    ['creations', false],
    ['deletions', true],
  ] as const)
    it(`of ${what} the manager is killed: its successor goes on where it was, and asks nothing twice`, async () => {
      const cluster = `killed-${what}`;
      const names = ['a', 'b', 'c', 'd', 'e'].map((letter) => `${cluster}-${letter}`);
      await world.createEksCluster(cluster);
      const calls = callsFromNow(world.aws);
      await startInOrder(cluster, ...names);
      if (isDeletion) {
        await allReady(names);
        await deleteAll(names);
      }
      const [, second = ''] = names;
      await eventually(
        async () => (await world.profile(second))?.status?.['profileStatus'] === (isDeletion ? 'DELETING' : 'CREATING'),
        { intervalMs: 20 },
      );
      await world.manager.stop('SIGKILL');
      await world.startManager();
      if (!isDeletion) {
        await allReady(names);
        await deleteAll(names);
      }
      await allGone(names);
      expect(laneOf(calls).toSorted()).to.deep.equal(
        names.flatMap((name) => [`Create default_${name}`, `Delete default_${name}`]).toSorted(),
      );
      expect(calls.failures()).to.deep.equal([]);
      expect(await warningsOf(names)).to.deep.equal([]);
    });

  it('the manager is killed right after EKS took a create: nothing is made twice, and nobody waits in vain', async () => {
    const names = ['unseen-a', 'unseen-b', 'unseen-c'];
    await world.createEksCluster('unseen');
    const calls = callsFromNow(world.aws);
    const { manager } = world;
    let killed: Promise<unknown> | undefined;
    const forget = world.aws.onCall(({ operation, applied }, phase) => {
      if (phase === 'after' && applied && operation === 'CreateFargateProfile') killed ??= manager.stop('SIGKILL');
    });
    await start('unseen', ...names);
    await eventually(() => killed !== undefined);
    await killed;
    forget();
    await world.startManager();
    await allReady(names);
    const creates = laneOf(calls).filter((line) => line.startsWith('Create'));
    expect(creates.filter((line) => !line.includes('Exception')).toSorted()).to.deep.equal(
      names.map((name) => `Create default_${name}`),
    );
    // One of the others may ask EKS before the first has looked: EKS names who is ahead.
    expect(creates.length - names.length, 'refused creates').to.be.at.most(1);
    expect(await warningsOf(names)).to.deep.equal([]);
  });
});
