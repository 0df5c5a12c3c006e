import { expect } from 'chai';
import { FINALIZER, PLURAL, RECORD_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../api/v1beta2/index.ts';
import { EKS_CLUSTER, HOUR, SECOND } from './world/cluster.ts';
import { BASE, OTHER, REPLACE, REPLACEMENT, ReplaceableWorld, THIRD, changesSince } from './world/replaceable-world.ts';

describe('a record of an earlier moment', () => {
  for (const isAppliedAgain of [false, true])
    it(`from while EKS was creating deletes nothing under Reject${isAppliedAgain ? ', also after Git has applied the spec again' : ''}`, async () => {
      const world = new ReplaceableWorld();
      world.start();
      world.apply('web');
      await world.shows('False/Creating');
      const backup = world.backup();
      await world.ready('web');
      world.delete('web');
      await world.gone('web');
      world.applyWith('web', OTHER);
      await world.ready('web');
      await world.stopAll();
      const { length } = world.mutations();
      world.restore(backup, isAppliedAgain ? { spec: OTHER } : {});
      world.start();
      await world.shows(isAppliedAgain ? 'True/Ready' : 'False/SpecDiffers');
      await world.clock.advance(2 * HOUR);
      expect(changesSince(world, length)).to.deep.equal([]);
      await world.deleteAndFinish('web');
    });

  for (const [type, hasStatus] of [
    ['Reject', true],
    ['Reject', false],
    ['Replace', true],
    ['Replace', false],
  ] as const)
    it(`from before a replacement stops under ${type}, ${hasStatus ? 'with' : 'without'} its status, until Git applies the present spec`, async () => {
      const world = new ReplaceableWorld();
      await world.startReplaceable();
      const backup = world.backup();
      await world.replaced();
      await world.stopAll();
      const { length } = world.mutations();
      world.restore(backup, { status: hasStatus, spec: { updateStrategy: { type } } });
      world.start();
      await world.shows('True/ManagedElsewhere', 'Stalled');
      await world.clock.advance(HOUR);
      expect(world.mutations()).to.have.length(length);
      world.change({ spec: { ...REPLACE, ...OTHER } });
      await world.shows('True/Ready');
      await world.clock.advance(HOUR);
      expect(world.names).to.deep.equal([REPLACEMENT]);
      expect(changesSince(world, length)).to.deep.equal([]);
      await world.deleteAndFinish('web');
    });

  it('from while EKS was creating the profile that serves deletes nothing, even if the quota allows no more', async () => {
    const world = new ReplaceableWorld({ aws: { eks: { maxProfilesPerCluster: 2 } } });
    await world.startReplaceable({ updateStrategy: { type: 'Replace', replace: { keepPredecessorFor: '168h' } } });
    world.change({ spec: OTHER });
    await world.until('the replacement', () => world.names.includes(REPLACEMENT), HOUR);
    const backup = world.backup();
    await world.shows('True/PredecessorKept');
    await world.clock.advance(24 * HOUR);
    await world.stopAll();
    const { length } = world.mutations();
    world.restore(backup, { spec: THIRD });
    world.start();
    await world.shows('False/QuotaExceeded');
    await world.clock.advance(3 * HOUR);
    expect(world.eksChanges(length).filter((each) => each.startsWith('Delete'))).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });

  it('without status and record leaves nothing if the object is deleted before its first reconcile', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaced();
    const { metadata, spec } = world.backup();
    await world.stopAll();
    world.forget();
    world.create(PLURAL, { metadata: { name: metadata.name, finalizers: [FINALIZER] }, spec });
    world.delete('web');
    world.start();
    await world.gone('web');
    await world.finish();
  });
});

describe('an object that is applied again after a replacement', () => {
  it('finds its profile after a deletion with Retain', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaced();
    world.change({ spec: { deletionPolicy: 'Retain' } });
    world.delete('web');
    await world.gone('web');
    const { length } = world.mutations();
    world.applyWith('web', OTHER);
    await world.ready('web');
    expect(world.names).to.deep.equal([REPLACEMENT]);
    expect(world.mutations()).to.have.length(length);
    await world.deleteAndFinish('web');
  });

  it('finds its profile after somebody has taken the finalizer off', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaced();
    await world.stopAll();
    world.forget();
    const { length } = world.mutations();
    world.applyWith('web', OTHER);
    world.start();
    await world.ready('web');
    expect(world.names).to.deep.equal([REPLACEMENT]);
    expect(world.mutations()).to.have.length(length);
    await world.deleteAndFinish('web');
  });
});

describe('a record that another client changes', () => {
  for (const moment of ['False/Replacing', 'True/PredecessorKept', 'True/RemovingPredecessor', 'True/Ready'])
    it(`is found again by a new manager if kubectl replace has dropped it at ${moment}`, async () => {
      const world = new ReplaceableWorld();
      await world.startReplaceable();
      world.change({ spec: { ...OTHER, roleName: 'other-role' } });
      await world.shows('False/Replacing');
      if (moment !== 'False/Replacing') await world.shows(moment);
      await world.clock.advance(SECOND);
      await world.stopAll();
      world.change({ metadata: { annotations: null } });
      world.start();
      await world.until('the end', () => world.shown() === 'True/Ready' && world.names.length === 1, HOUR);
      expect(world.names).to.deep.equal([REPLACEMENT]);
      await world.deleteAndFinish('web');
    });

  it('keeps the profile that serves if Git sets an old record back', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaceable();
    const old = world.backup().metadata.annotations?.[RECORD_ANNOTATION];
    await world.replaced();
    const { length } = world.mutations();
    world.change({ metadata: { annotations: { [RECORD_ANNOTATION]: old } } });
    await world.clock.advance(2 * HOUR);
    expect(world.mutations()).to.have.length(length);
    await world.deleteAndFinish('web');
  });

  it('deletes nothing if it says that the deletion has begun, and the profile has been made since', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReady('web');
    const leaving = world.backup();
    world.delete('web');
    await world.until(
      'the record of the deletion',
      () => world.backup().metadata.annotations?.[RECORD_ANNOTATION]?.includes('"deleting":true') === true,
    );
    const { metadata } = world.backup();
    await world.gone('web');
    world.apply('web');
    await world.ready('web');
    await world.stopAll();
    const { length } = world.mutations();
    world.restore(
      { ...leaving, metadata: { ...leaving.metadata, annotations: metadata.annotations ?? {} } },
      { status: false },
    );
    world.start();
    await world.ready('web');
    await world.clock.advance(HOUR);
    expect(changesSince(world, length)).to.deep.equal([]);
    expect(world.eventMessages('IgnoredDeletion').join('\n')).to.match(
      /says that this AWSFargateProfile was being deleted, but AWS or the status shows that the annotation is an old copy/,
    );
    await world.deleteAndFinish('web');
  });

  it('stops the object if it cannot be read, until the annotation is deleted', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReady('web');
    const { length } = world.mutations();
    world.change({
      metadata: { annotations: { [RECORD_ANNOTATION]: '{"v":2}' } },
      spec: { additionalTags: { a: 'b' } },
    });
    await world.shows('True/RecordUnreadable', 'Stalled');
    world.delete('web');
    await world.clock.advance(HOUR);
    expect(world.mutations()).to.have.length(length);
    world.change({ metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
    await world.gone('web');
    await world.finish();
  });
});

describe('two records of one object', () => {
  it('delete each other no profile: the second stops with ManagedElsewhere, and take-over or Retain is the way out', async () => {
    for (const way of ['take-over', 'retain'] as const) {
      const world = new ReplaceableWorld();
      await world.startReplaceable();
      const home = world.backup();
      await world.replaced();
      await world.stopAll();
      const { length } = world.mutations();
      // The other management cluster has the object from before the replacement, and its user wants a third spec.
      world.restore(home, { spec: THIRD });
      world.start();
      await world.shows('True/ManagedElsewhere', 'Stalled');
      await world.clock.advance(2 * HOUR);
      expect(world.mutations()).to.have.length(length);
      expect(world.names).to.deep.equal([REPLACEMENT]);
      const id = world.aws.admin.profiles()[0]?.arn.split('/').at(-1);
      if (way === 'take-over') {
        world.change({ metadata: { annotations: { [TAKE_OVER_ANNOTATION]: id } } });
        await world.until('the third', () => world.shown() === 'True/Ready' && world.names.length === 1, HOUR);
        expect(world.names).to.deep.equal([`9998-${BASE}`]);
        await world.deleteAndFinish('web');
      } else {
        world.delete('web');
        await world.clock.advance(HOUR);
        expect(world.names).to.deep.equal([REPLACEMENT]);
        world.change({ spec: { deletionPolicy: 'Retain' } });
        await world.gone('web');
        expect(world.mutations()).to.have.length(length);
      }
    }
  });
});

describe('a base name that somebody else has taken', () => {
  it('does not stop the next replacement', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaced();
    const roleArn = world.aws.admin.profiles()[0]?.podExecutionRoleArn ?? '';
    world.aws.admin.putProfile({ cluster: EKS_CLUSTER, name: BASE, podExecutionRoleArn: `${roleArn}-theirs` });
    world.change({ spec: THIRD });
    const isOver = (): boolean => world.shown() === 'True/Ready' && !world.names.includes(REPLACEMENT);
    await world.until('the next replacement', isOver, HOUR);
    expect(world.names).to.have.members([`9998-${BASE}`, BASE]);
    await world.deleteAndFinish('web');
  });

  it('means no replacement if the user writes the name that status shows into the spec', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaced();
    const { length } = world.mutations();
    world.change({ spec: { profileName: REPLACEMENT } });
    await world.clock.advance(HOUR);
    expect(world.names).to.deep.equal([REPLACEMENT]);
    expect(world.eksChanges(length)).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });
});
