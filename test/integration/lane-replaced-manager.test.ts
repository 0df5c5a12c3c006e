import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { laneOf, queueIn } from '../world/queue.ts';
import type { World } from '../world/world.ts';
import { startWorld } from '../world/world.ts';

describe('the lane, when the manager is killed in the midst of a queue', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

  const { start, startBehind, endlessly, waitInLine, deleteAll, allReady, allGone, warningsOf } = queueIn(() => world);

  const place = (cluster: string, object: string): { readonly cluster: string; readonly name: string } => ({
    cluster: `default_${cluster}-control-plane`,
    name: `default_${object}`,
  });

  /** Waits until the manager knows what EKS is doing with the profile of an object. */
  async function underWay(object: string, status: 'CREATING' | 'DELETING'): Promise<void> {
    await eventually(async () => (await world.profile(object))?.status?.['profileStatus'] === status, {
      what: `${object} ${status}`,
      timeoutMs: 30_000,
    });
  }

  /** Kills the manager; resolves when its successor has looked at an object and found it as it was. */
  async function succeed(object: string): Promise<void> {
    await world.manager.stop('SIGKILL');
    const calls = callsFromNow(world.aws);
    await world.startManager();
    await eventually(() => calls.about(`default_${object}`).some(({ status }) => status === 200), {
      what: `a look of the successor at ${object}`,
      timeoutMs: 30_000,
    });
  }

  const onceEach = (names: readonly string[]): readonly string[] =>
    names.flatMap((name) => [`Create default_${name}`, `Delete default_${name}`]).toSorted();

  it('of creations the manager is killed: its successor goes on where it was, and asks nothing twice', async () => {
    const [first, second, ...others] = ['made-a', 'made-b', 'made-c', 'made-d', 'made-e'] as const;
    const names = [first, second, ...others];
    await world.createEksCluster('made');
    const calls = callsFromNow(world.aws);
    const endFirst = await startBehind('made', ...names);
    await endlessly('creations', async () => {
      endFirst();
      await underWay(second, 'CREATING');
      await succeed(second);
    });
    await waitInLine(...others);
    world.aws.admin.setProfile({ ...place('made', second), status: 'ACTIVE' });
    await allReady(names);
    await deleteAll(names);
    await allGone(names);
    expect(laneOf(calls).toSorted()).to.deep.equal(onceEach(names));
    expect(calls.failures()).to.deep.equal([]);
    expect(await warningsOf(names)).to.deep.equal([]);
  });

  it('of deletions the manager is killed: its successor goes on where it was, and asks nothing twice', async () => {
    const [first, second, ...others] = ['gone-a', 'gone-b', 'gone-c', 'gone-d', 'gone-e'] as const;
    const names = [first, second, ...others];
    await world.createEksCluster('gone');
    const calls = callsFromNow(world.aws);
    await start('gone', ...names);
    await allReady(names);
    await endlessly('deletions', async () => {
      await world.delete(first);
      await underWay(first, 'DELETING');
      await deleteAll([second, ...others]);
      await waitInLine(second, ...others);
      world.aws.admin.removeProfile(place('gone', first));
      await underWay(second, 'DELETING');
      await succeed(second);
    });
    await waitInLine(...others);
    world.aws.admin.removeProfile(place('gone', second));
    await allGone(names);
    expect(laneOf(calls).toSorted()).to.deep.equal(onceEach(names));
    expect(calls.failures()).to.deep.equal([]);
    expect(await warningsOf(names)).to.deep.equal([]);
  });

  it('the manager is killed right after EKS took a create: nothing is made twice, and nobody waits in vain', async () => {
    const names = ['unseen-a', 'unseen-b', 'unseen-c'];
    await world.createEksCluster('unseen');
    const calls = callsFromNow(world.aws);
    const { manager } = world;
    let taken: string | undefined;
    // The answer waits for the end of whom it is for.
    const forget = world.aws.onCall(async ({ operation, applied, nouns }, phase) => {
      if (phase !== 'after' || !applied || operation !== 'CreateFargateProfile' || taken !== undefined) return;
      taken = nouns['fargateProfileName']?.replace('default_', '') ?? '';
      await manager.stop('SIGKILL');
    });
    await endlessly('creations', async () => {
      await start('unseen', ...names);
      await eventually(() => manager.exit() !== undefined, { what: 'the end of the manager' });
      forget();
    });
    expect(taken).to.be.oneOf(names);
    await world.startManager();
    await waitInLine(...names.filter((name) => name !== taken));
    world.aws.admin.setProfile({ ...place('unseen', String(taken)), status: 'ACTIVE' });
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
