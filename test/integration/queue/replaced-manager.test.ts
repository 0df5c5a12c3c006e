import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { profileMutations, profileQueueOf } from '../../world/aws/queue.ts';
import type { World } from '../../world/world.ts';
import { startWorld } from '../../world/world.ts';

describe('the cluster queue after the manager is killed', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

  const {
    start,
    startQueued,
    withEndlessChanges,
    waitUntilQueued,
    deleteAll,
    waitUntilReady,
    waitUntilGone,
    warningsOf,
  } = profileQueueOf(() => world);

  const eksProfile = (cluster: string, object: string): { readonly cluster: string; readonly name: string } => ({
    cluster: `default_${cluster}-control-plane`,
    name: `default_${object}`,
  });

  async function waitForProfileStatus(object: string, status: 'CREATING' | 'DELETING'): Promise<void> {
    await eventually(async () => (await world.profile(object))?.status?.['profileStatus'] === status, {
      what: `${object} ${status}`,
    });
  }

  /**
   * Kills the manager, starts a new one, and waits until the new manager has read the Fargate profile of the
   * AWSFargateProfile.
   */
  async function replaceManager(object: string): Promise<void> {
    await world.manager.stop('SIGKILL');
    const calls = callsFromNow(world.aws);
    await world.startManager();
    await eventually(() => calls.about(`default_${object}`).some(({ status }) => status === 200), {
      what: `a look of the successor at ${object}`,
    });
  }

  const onceEach = (names: readonly string[]): readonly string[] =>
    names.flatMap((name) => [`Create default_${name}`, `Delete default_${name}`]).toSorted();

  it('during creates: the successor continues and repeats no call', async () => {
    const [first, second, ...others] = ['made-a', 'made-b', 'made-c', 'made-d', 'made-e'] as const;
    const names = [first, second, ...others];
    await world.createEksCluster('made');
    const calls = callsFromNow(world.aws);
    const endFirst = await startQueued('made', ...names);
    await withEndlessChanges('creations', async () => {
      endFirst();
      await waitForProfileStatus(second, 'CREATING');
      await replaceManager(second);
    });
    await waitUntilQueued(...others);
    world.aws.admin.setProfile({ ...eksProfile('made', second), status: 'ACTIVE' });
    await waitUntilReady(names);
    await deleteAll(names);
    await waitUntilGone(names);
    expect(profileMutations(calls).toSorted()).to.deep.equal(onceEach(names));
    expect(calls.failures()).to.deep.equal([]);
    expect(await warningsOf(names)).to.deep.equal([]);
  });

  it('during deletions: the successor continues and repeats no call', async () => {
    const [first, second, ...others] = ['gone-a', 'gone-b', 'gone-c', 'gone-d', 'gone-e'] as const;
    const names = [first, second, ...others];
    await world.createEksCluster('gone');
    const calls = callsFromNow(world.aws);
    await start('gone', ...names);
    await waitUntilReady(names);
    await withEndlessChanges('deletions', async () => {
      await world.delete(first);
      await waitForProfileStatus(first, 'DELETING');
      await deleteAll([second, ...others]);
      await waitUntilQueued(second, ...others);
      world.aws.admin.removeProfile(eksProfile('gone', first));
      await waitForProfileStatus(second, 'DELETING');
      await replaceManager(second);
    });
    await waitUntilQueued(...others);
    world.aws.admin.removeProfile(eksProfile('gone', second));
    await waitUntilGone(names);
    expect(profileMutations(calls).toSorted()).to.deep.equal(onceEach(names));
    expect(calls.failures()).to.deep.equal([]);
    expect(await warningsOf(names)).to.deep.equal([]);
  });

  it('after EKS accepted a create: the successor does not repeat the create, and all objects become Ready', async () => {
    const names = ['unseen-a', 'unseen-b', 'unseen-c'];
    await world.createEksCluster('unseen');
    const calls = callsFromNow(world.aws);
    const { manager } = world;
    let taken: string | undefined;
    // The test kills the manager after EKS has accepted CreateFargateProfile, and before the manager gets the answer.
    const forget = world.aws.onCall(async ({ operation, applied, identifiers }, phase) => {
      if (phase !== 'after' || !applied || operation !== 'CreateFargateProfile' || taken !== undefined) return;
      taken = identifiers['fargateProfileName']?.replace('default_', '') ?? '';
      await manager.stop('SIGKILL');
    });
    await withEndlessChanges('creations', async () => {
      await start('unseen', ...names);
      await eventually(() => manager.exit() !== undefined, { what: 'the end of the manager' });
      forget();
    });
    expect(taken).to.be.oneOf(names);
    await world.startManager();
    await waitUntilQueued(...names.filter((name) => name !== taken));
    world.aws.admin.setProfile({ ...eksProfile('unseen', String(taken)), status: 'ACTIVE' });
    await waitUntilReady(names);
    const creates = profileMutations(calls).filter((line) => line.startsWith('Create'));
    expect(creates.filter((line) => !line.includes('Exception')).toSorted()).to.deep.equal(
      names.map((name) => `Create default_${name}`),
    );
    // The new manager can call CreateFargateProfile before it sees that EKS is still creating another Fargate profile.
    // EKS then refuses the call, and its error names the other Fargate profile.
    expect(creates.length - names.length, 'refused creates').to.be.at.most(1);
    expect(await warningsOf(names)).to.deep.equal([]);
  });
});
