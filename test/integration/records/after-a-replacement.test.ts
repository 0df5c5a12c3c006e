import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';
import {
  EAGER,
  FINALIZER,
  FIRST,
  OTHER,
  REPLACE,
  THIRD,
  backUp,
  change,
  changesFromNow,
  lose,
  namesOf,
  profilesOf,
  replaced,
  restore,
  severalComparisons,
} from './records.ts';

const RESTORED = ['under-reject', 'under-replace'] as const;
const NAMES = ['retained', 'stripped', 'bare', 'taken', 'renamed', ...RESTORED] as const;

// The manager keeps a predecessor for 30 s. To save time, the test replaces all profiles at the same time, each in its
// own EKS cluster.
describe('an object whose profile has a derived name since a replacement', () => {
  const world = useWorld();
  const backups = new Map<string, Awaited<ReturnType<typeof backUp>>>();
  const backupOf = (name: string) => backups.get(name) ?? expect.fail(`there is no backup of ${name}`);

  before(async () => {
    await world.startManager(EAGER);
    await Promise.all(NAMES.map((name) => world.createEksCluster(name)));
    await Promise.all(
      NAMES.map((name) => world.apply(fargateProfile(name, { clusterName: name, ...FIRST, ...REPLACE }))),
    );
    await Promise.all(NAMES.map((name) => world.ready(name)));
    for (const name of NAMES) backups.set(name, await backUp(world, name));
    await Promise.all(NAMES.map((name) => change(world, name, OTHER)));
    await Promise.all(NAMES.map((name) => replaced(world, name)));
    for (const name of NAMES) expect(namesOf(world, name)).to.deep.equal([`9999-default_${name}`]);
  });

  describe('and whose management cluster was lost', () => {
    let changes: ReadonlyMap<string, () => readonly string[]>;
    const changesOf = (...names: readonly string[]) => names.map((name) => changes.get(name)?.());

    before(async () => {
      await world.stopManager();
      changes = new Map(NAMES.map((name) => [name, changesFromNow(world, name)]));
      await Promise.all(['stripped', 'bare', ...RESTORED].map((name) => lose(world, name)));
      await world.apply(fargateProfile('stripped', { clusterName: 'stripped', ...OTHER, ...REPLACE }));
      await restore(world, backupOf('under-reject'), { spec: { updateStrategy: { type: 'Reject' } } });
      await restore(world, backupOf('under-replace'));
      const { metadata, ...bare } = backupOf('bare');
      await restore(
        world,
        { ...bare, metadata: { ...metadata, finalizers: [FINALIZER] } },
        { annotations: {}, hasStatus: false },
      );
      await world.delete('bare');
      await world.startManager(EAGER);
      await severalComparisons();
    });

    it('finds the profile again if a user has removed the finalizer and applied the object again', async () => {
      const { status } = await world.ready('stripped');
      expect(status?.['profileName']).to.equal('9999-default_stripped');
      expect(changesOf('stripped')).to.deep.equal([[]]);
      await expectDeleted('stripped');
    });

    // The backups have the spec from before the replacement, so both objects differ from what EKS has.
    it('keeps the profile if it is restored to before the replacement, under Reject and under Replace', async () => {
      for (const name of RESTORED) {
        await world.condition(name, 'Stalled', { status: 'True', reason: 'ManagedElsewhere' });
        expect(profilesOf(world, name).map(({ status }) => status)).to.deep.equal(['ACTIVE']);
      }
      // When Git applies the current spec again, the profile in EKS matches the spec, so the manager accepts the
      // profile as the object's.
      await Promise.all(RESTORED.map((name) => change(world, name, { ...REPLACE, ...OTHER })));
      for (const name of RESTORED) {
        await world.condition(name, 'Stalled', { status: 'False' }, { generation: 2 });
        await world.ready(name, { generation: 2 });
        expect(namesOf(world, name)).to.deep.equal([`9999-default_${name}`]);
      }
      expect(changesOf(...RESTORED)).to.deep.equal([[], []]);
      await expectDeleted(...RESTORED);
    });

    it('deletes the profile if it has lost status and record, and is deleted before its first reconcile', async () => {
      // The manager deletes the role only a minute after its start, because until then a request that the lost record
      // contained may still show its result in AWS. So the test waits for the profile alone.
      await eventually(() => namesOf(world, 'bare').length === 0, { what: 'the deletion of the profile' });
      expect(changesOf('bare')).to.deep.equal([['Delete 9999-default_bare']]);
    });
  });

  it('finds the profile again after a deletion with Retain', async () => {
    await change(world, 'retained', { deletionPolicy: 'Retain' });
    await world.delete('retained');
    await world.gone('retained');
    const changes = changesFromNow(world, 'retained');
    await world.apply(fargateProfile('retained', { clusterName: 'retained', ...OTHER }));
    const { status } = await world.ready('retained');
    expect(status?.['profileName']).to.equal('9999-default_retained');
    expect(changes()).to.deep.equal([]);
    await expectDeleted('retained');
  });

  it('is replaced again although a profile of another owner has taken its first name', async () => {
    const theirs = world.aws.admin.putProfile({
      cluster: 'default_taken-control-plane',
      name: 'default_taken',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/theirs',
    });
    await change(world, 'taken', THIRD);
    await world.condition('taken', 'Ready', { status: 'True', reason: 'PredecessorKept' });
    const ours = profilesOf(world, 'taken');
    expect(ours.map(({ name, status }) => [name, status])).to.have.deep.members([
      ['9999-default_taken', 'ACTIVE'],
      ['9998-default_taken', 'ACTIVE'],
    ]);
    await expectDeleted('taken');
    expect(world.awsView.profile('default_taken')).to.deep.equal(theirs);
  });

  it('changes nothing if a user writes the name that status shows into the spec', async () => {
    const changes = changesFromNow(world, 'renamed');
    await change(world, 'renamed', { profileName: '9999-default_renamed' });
    await world.ready('renamed', { generation: 3 });
    await severalComparisons();
    expect(changes()).to.deep.equal([]);
    expect(namesOf(world, 'renamed')).to.deep.equal(['9999-default_renamed']);
    await expectDeleted('renamed');
  });

  async function expectDeleted(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => world.delete(name)));
    await Promise.all(names.map((name) => world.gone(name)));
    for (const name of names) {
      expect(namesOf(world, name), `profiles of ${name}`).to.deep.equal([]);
      expect(world.awsView.role(`${name}-default_${name}_fargate`), `role of ${name}`).to.equal(undefined);
    }
  }
});
