import { expect } from 'chai';
import { PAUSED_ANNOTATION, PLURAL } from '../../api/v1beta2/index.ts';
import { putForeignProfile } from './phases/phase.ts';
import { EKS_CLUSTER, MINUTE } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const pause = (world: SimulatedWorld, name: string, value: '' | null): void =>
  world.patch(PLURAL, name, { metadata: { annotations: { [PAUSED_ANNOTATION]: value } } });

/** Creates the AWSFargateProfiles, and waits until EKS creates the profile of the first and the others wait for it. */
async function startQueued(...names: readonly [string, ...string[]]): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } });
  world.start();
  await queue(world, ...names);
  return world;
}

async function queue(world: SimulatedWorld, first: string, ...others: readonly string[]): Promise<void> {
  world.apply(first);
  await world.reason(first, 'Creating');
  for (const name of others) {
    world.apply(name);
    await world.reason(name, 'WaitingForSibling');
  }
}

describe('the profiles of an EKS cluster, which EKS changes one at a time', () => {
  it('are created and deleted in order, and each object that waits names the one ahead', async () => {
    const names = ['a', 'b', 'c', 'd'] as const;
    const world = await startQueued(...names);
    expect(world.condition('b')?.message).to.match(/^EKS changes only one .* "default_a" is being created\. /);
    expect(world.condition('d')?.message).to.match(/^EKS changes only one .* "default_[abc]" is /);
    await world.ready(...names);
    world.delete(...names);
    await world.gone(...names);
    const [creates, deletes] = [world.eksChanges().slice(0, 4), world.eksChanges().slice(4)];
    expect(creates).to.deep.equal(names.map((name) => `Create default_${name}`));
    expect(deletes).to.have.members(names.map((name) => `Delete default_${name}`));
    await world.finish();
    expect(world.problems()).to.deep.equal([]);
  });

  it('are deleted before older ones are created', async () => {
    const world = new SimulatedWorld({ aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } });
    const waiters = ['older-a', 'older-b'];
    world.apply(...waiters);
    for (const name of waiters) pause(world, name, '');
    await world.clock.advance(MINUTE);
    world.start();
    world.apply('young');
    await world.ready('young');
    const { length } = world.mutations();
    await queue(world, 'first');
    for (const name of waiters) pause(world, name, null);
    for (const name of waiters) await world.reason(name, 'WaitingForSibling');
    world.delete('young');
    await world.reason('young', 'WaitingForSibling', 'Deleting');
    await world.gone('young');
    await world.ready('first', ...waiters);
    expect(world.eksChanges(length)).to.deep.equal([
      'Create default_first',
      'Delete default_young',
      'Create default_older-a',
      'Create default_older-b',
    ]);
    await world.deleteAndFinish('first', ...waiters);
  });

  it('pass over a paused object, which is created once it is resumed', async () => {
    const world = await startQueued('a', 'b', 'c');
    pause(world, 'b', '');
    await world.ready('a', 'c');
    expect(world.eksProfile('b')).to.equal(undefined);
    pause(world, 'b', null);
    await world.ready('b');
    expect(world.eksChanges()).to.deep.equal(['a', 'c', 'b'].map((name) => `Create default_${name}`));
    await world.deleteAndFinish('a', 'b', 'c');
  });

  it('are not created for an object that is deleted while it waits, and with the last spec for one that is changed', async () => {
    const world = await startQueued('a', 'b', 'c');
    world.delete('b');
    await world.until('the end of b', () => world.profile('b') === undefined, MINUTE / 2);
    world.patch(PLURAL, 'c', { spec: { selectors: [{ namespace: 'edited' }] } });
    await world.ready('a', 'c');
    expect(world.eksProfile('c')?.selectors).to.deep.equal([{ namespace: 'edited', labels: {} }]);
    expect(world.eksChanges()).to.deep.equal(['Create default_a', 'Create default_c']);
    expect(world.role('b')).to.equal(undefined);
    await world.deleteAndFinish('a', 'c');
  });

  it('keep their order however often the objects are reconciled', async () => {
    const world = await startQueued('a', 'b', 'c');
    for (let look = 0; look < 5; look++) {
      for (const name of ['a', 'b', 'c']) world.triggerReconcile(name);
      await world.clock.advance(MINUTE / 20);
    }
    await world.ready('a', 'b', 'c');
    expect(world.eksChanges()).to.deep.equal(['a', 'b', 'c'].map((name) => `Create default_${name}`));
    await world.deleteAndFinish('a', 'b', 'c');
  });

  for (const [status, doing] of [
    ['CREATING', 'being created'],
    ['DELETING', 'being deleted'],
  ] as const)
    it(`wait for a foreign profile that is ${doing}, without a request that EKS refuses`, async () => {
      const names = ['a', 'b', 'c'];
      const world = new SimulatedWorld();
      putForeignProfile(world, 'theirs', { status });
      world.start();
      world.apply(...names);
      for (const name of names) {
        await world.reason(name, 'WaitingForSibling');
        await world.until(
          `${name} names it`,
          () => world.condition(name)?.message?.includes(`"theirs" is ${doing}`) === true,
        );
      }
      world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' });
      await world.ready(...names);
      expect(world.eksChanges().filter((line) => line.includes('Exception'))).to.deep.equal([]);
      expect(world.warnings()).to.deep.equal([]);
      await world.deleteAndFinish(...names);
    });

  it('are deleted later if EKS still refuses that after a create', async () => {
    const world = await startQueued('a');
    await world.ready('a');
    const refuses = ['delete', 'deleteCluster'] as const;
    world.aws.admin.setCluster({ name: EKS_CLUSTER, updateInProgressMs: 5 * MINUTE, refuses });
    world.delete('a');
    await world.reason('a', 'ClusterUpdating', 'Deleting');
    await world.gone('a');
    expect(world.warnings()).to.deep.equal([]);
    await world.finish();
  });
});
