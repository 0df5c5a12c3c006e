import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { takeBlocks } from '../docs/blocks.ts';
import { ROLE, changeRoleByHand } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, HOUR, MINUTE, NAMESPACE, SECOND } from './world/cluster.ts';
import { BASE, OTHER, REPLACE, REPLACEMENT, ReplaceableWorld, THIRD } from './world/replaceable-world.ts';

const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
const THEIR_ROLE = `arn:aws:iam::${ACCOUNT}:role/theirs`;

/** A world whose object `web` is Ready, and in which the test fails as soon as no profile of the object is ACTIVE. */
class ReplacingWorld extends ReplaceableWorld {
  private isWatched = false;
  readonly gaps: string[] = [];

  async startWatched(spec: object = {}): Promise<void> {
    await this.startReplaceable(spec);
    this.isWatched = true;
    this.aws.onCall(({ operation }) => this.look(operation));
    this.onChange = () => this.look('a change');
  }

  private look(after: string): void {
    if (this.isWatched && this.active().length === 0) this.gaps.push(`${after} after ${this.elapsed} ms`);
  }

  ours() {
    return this.aws.admin.profiles().filter(({ tags }) => tags[OWNER_TAG] === `${NAMESPACE}/web`);
  }

  active(): readonly string[] {
    return this.ours().flatMap(({ name, status }) => (status === 'ACTIVE' ? [name] : []));
  }

  /** Waits until the replacement is over. Returns the name of the one profile that is left. */
  async settled(): Promise<string> {
    const isSettled = (): boolean =>
      this.shown() === 'True/Ready' &&
      this.status['predecessors'] === undefined &&
      this.condition('web')?.observedGeneration === this.profile('web')?.metadata.generation;
    await this.until('one profile', isSettled, HOUR);
    const [only, ...others] = this.ours();
    expect(others, 'profiles left').to.deep.equal([]);
    expect(this.status.profileName).to.equal(only?.name);
    return only?.name ?? '';
  }

  get status(): Readonly<Record<string, unknown>> {
    return (this.profile('web')?.['status'] ?? {}) as Readonly<Record<string, unknown>>;
  }

  roles(): readonly string[] {
    return this.aws.admin.roles().flatMap(({ name, foreign }) => (foreign ? [] : [name]));
  }

  async end(): Promise<void> {
    this.isWatched = false;
    expect(this.gaps, 'moments without an ACTIVE profile').to.deep.equal([]);
    await this.deleteAndFinish('web');
    expect(this.mutations().filter(({ errorCode }) => errorCode !== undefined)).to.deep.equal([]);
  }
}

const privateSubnets = (world: ReplacingWorld): readonly string[] => world.ours()[0]?.subnets ?? [];

describe('an object with updateStrategy Replace', () => {
  it('makes the changes in the picture of docs/replace.md, in their order', async () => {
    const picture = takeBlocks('docs/replace.md', import.meta.url).next('sequenceDiagram');
    const drawn = [...picture.matchAll(/Object->>EKS: (create|delete) (the role of )?/g)].map(
      ([, verb, ofRole]) =>
        `${verb === 'create' ? 'Create' : 'Delete'}${ofRole === undefined ? 'FargateProfile' : 'Role'}`,
    );
    expect(drawn).to.have.length(3);
    const world = new ReplacingWorld();
    await world.startWatched();
    const { length } = world.mutations();
    world.change({ spec: { roleName: 'other-role' } });
    await world.settled();
    expect(world.operations(length).filter((each) => drawn.includes(each))).to.deep.equal(drawn);
    await world.end();
  });

  it('keeps the old profile until the new one is ACTIVE, and tells each step', async () => {
    const world = new ReplacingWorld();
    await world.startWatched();
    const [role] = world.roles();
    world.change({ spec: OTHER });
    await world.shows('False/Replacing');
    expect(world.condition('web')?.message).to.match(
      /^EKS is creating Fargate profile "9999-default_web" to replace "default_web"\. Until it is ACTIVE, new pods start on "default_web"\.$/,
    );
    expect(world.shown('Reconciling')).to.equal('True/Replacing');
    expect(world.shown('Available')).to.equal('True/Active');
    expect(world.status.profileName, 'the profile that serves pods').to.equal(BASE);
    await world.shows('True/PredecessorKept');
    expect(world.condition('web')?.message).to.match(
      /^Fargate profile "9999-default_web" is ACTIVE and replaces "default_web", which the controller deletes at [-0-9T:]+Z; EKS then stops its pods immediately, without regard to PodDisruptionBudgets\. The pods of "default_web" do not start on "9999-default_web", because no pod can match both\. /,
    );
    expect(world.shown('Reconciling')).to.equal('False/Idle');
    await world.shows('True/RemovingPredecessor');
    const name = await world.settled();
    expect(name).to.equal(REPLACEMENT);
    expect(world.roles(), 'the role derives from the base name').to.deep.equal([role]);
    await world.end();
    expect(world.warnings()).to.deep.equal([]);
  });

  const changes: readonly (readonly [what: string, specFor: (world: ReplacingWorld) => object])[] = [
    ['subnets', (world) => ({ subnetIDs: privateSubnets(world).slice(0, 1) })],
    ['profile name', () => ({ profileName: 'renamed' })],
    ['role name and path', () => ({ roleName: 'other-role', rolePath: '/team/' })],
  ];
  for (const [what, specFor] of changes)
    it(`takes over another ${what}, and removes the role that nothing uses any more`, async () => {
      const world = new ReplacingWorld();
      await world.startWatched();
      world.change({ spec: specFor(world) });
      await world.shows('False/Replacing');
      await world.settled();
      expect(world.roles()).to.have.length(1);
      await world.end();
    });

  it('suggests no second object while a change of the spec would be enough', async () => {
    const roleARN = `arn:aws:iam::${ACCOUNT}:role/typo`;
    for (const [reason, spec] of [
      ['RoleNotFound', { roleARN }],
      ['ProfileNotOwned', { profileName: 'theirs' }],
      ['RoleNotOwned', { profileName: 'next' }],
      ['RoleSettingsConflict', { roleName: 'shared' }],
    ] as const) {
      const world = new ReplaceableWorld();
      await world.startReplaceable();
      world.aws.admin.putProfile({
        cluster: EKS_CLUSTER,
        name: 'theirs',
        podExecutionRoleArn: world.aws.admin.putRole({ name: `${CLUSTER}-next_fargate`, trustPolicy: '{}' }).arn,
      });
      world.applyWith('api', {
        roleName: 'shared',
        roleAdditionalPolicies: ['arn:aws:iam::aws:policy/ReadOnlyAccess'],
      });
      await world.ready('api');
      world.change({ spec });
      await world.shows(`True/${reason}`, 'Stalled');
      expect(world.condition('web')?.message).not.to.match(/create another AWSFargateProfile/i);
      world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' });
      world.aws.admin.removeRole({ name: `${CLUSTER}-next_fargate` });
      await world.deleteAndFinish('web', 'api');
    }
  });

  it('takes over the removal of the role name together with the path', async () => {
    const world = new ReplacingWorld();
    await world.startWatched({ roleName: 'first', rolePath: '/team/' });
    world.change({ spec: { roleName: null, rolePath: null } });
    await world.shows('False/Replacing');
    await world.settled();
    expect(world.roles()).to.deep.equal([ROLE]);
    await world.end();
  });

  it('takes the old profile back after a revert, whatever the new one is doing', async () => {
    for (const moment of ['False/Replacing', 'True/PredecessorKept', 'True/RemovingPredecessor']) {
      const world = new ReplacingWorld({ aws: { eks: { deleteMs: MINUTE } } });
      await world.startWatched();
      world.change({ spec: OTHER });
      await world.shows(moment);
      world.change({ spec: { selectors: [{ namespace: 'web' }] } });
      await world.clock.advance(SECOND);
      await world.settled();
      expect(world.ours()[0]?.selectors[0]?.namespace, moment).to.equal('web');
      await world.end();
    }
  });

  it('takes a replacement back whose creation EKS has not answered', async () => {
    for (const kind of ['reset', 'reset-after'] as const) {
      const world = new ReplacingWorld();
      await world.startWatched({ roleName: 'first-role' });
      const before = world.roles();
      const { length } = world.mutations();
      world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind, times: 1 });
      world.change({ spec: { roleName: 'other-role' } });
      await world.until('the request', () => world.operations(length).includes('CreateFargateProfile'));
      world.change({ spec: { roleName: 'first-role' } });
      await world.clock.advance(SECOND);
      await world.settled();
      const isAsBefore = (): boolean => world.ours().length === 1 && world.roles().join() === before.join();
      await world.until(`${kind}: only what was there before`, isAsBefore, 2 * MINUTE);
      await world.deleteAndFinish('web');
    }
  });

  it('finds a profile whose creation EKS has not answered, and that followed a failed one', async () => {
    const hidden = { describeAfterCreateMs: 20 * SECOND, listAfterCreateMs: 20 * SECOND };
    const world = new ReplacingWorld({ aws: { eks: { createMs: SECOND, ...hidden } } });
    world.start();
    world.aws.admin.planFailure({ operation: 'create', issues: [] });
    world.applyWith('web', REPLACE);
    const isDeleted = (): boolean => world.operations().includes('DeleteFargateProfile') && world.ours().length === 0;
    await world.until('the end of the deletion', isDeleted);
    world.aws.admin.clearPlannedFailures();
    world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'reset-after', times: 1 });
    world.change({ spec: { profileName: 'one' } });
    await world.until('the creation', () => world.ours().some(({ name }) => name === 'one'));
    await world.clock.advance(0.5 * SECOND);
    world.change({ spec: { profileName: null } });
    await world.clock.advance(SECOND);
    expect(await world.settled()).to.equal(REPLACEMENT);
    await world.deleteAndFinish('web');
  });

  it('needs no rule of its own for a second change before the first is done', async () => {
    for (const moment of ['False/Replacing', 'True/PredecessorKept', 'True/RemovingPredecessor']) {
      const world = new ReplacingWorld();
      await world.startWatched();
      world.change({ spec: OTHER });
      await world.shows(moment);
      world.change({ spec: THIRD });
      await world.clock.advance(SECOND);
      await world.settled();
      expect(world.ours()[0]?.selectors[0]?.namespace, moment).to.equal('third');
      await world.end();
    }
  });

  it('serves pods from the old profile while EKS fails to create the new one, and says so', async () => {
    const world = new ReplacingWorld();
    await world.startWatched();
    world.aws.admin.planFailure({ operation: 'create', issues: [] });
    world.change({ spec: OTHER });
    await world.until('Stalled', () => world.shown('Stalled') === 'True/CreateFailed', 3 * HOUR);
    expect(world.shown('Available')).to.equal('True/Active');
    expect(world.active()).to.deep.equal([BASE]);
    world.aws.admin.clearPlannedFailures();
    expect(await world.settled()).to.equal(REPLACEMENT);
    await world.end();
  });

  it('deletes the old profile again with growing pauses while EKS fails to delete it', async () => {
    const world = new ReplacingWorld();
    await world.startWatched();
    world.aws.admin.planFailure({ operation: 'delete', times: 6, issues: [] });
    world.change({ spec: OTHER });
    await world.until('the first failure', () => world.ours().some(({ status }) => status === 'DELETE_FAILED'), HOUR);
    await world.until('Stalled', () => world.shown('Stalled') === 'True/DeleteFailed', HOUR);
    expect(world.shown()).to.equal('True/RemovingPredecessor');
    expect(await world.settled()).to.equal(REPLACEMENT);
    expect(world.eksChanges().filter((each) => each === `Delete ${BASE}`)).to.have.length(7);
    await world.end();
  });

  it('makes room for the new profile if the quota allows no more, with a profile that never served', async () => {
    const world = new ReplacingWorld({ aws: { eks: { maxProfilesPerCluster: 2 } } });
    await world.startWatched();
    world.change({ spec: OTHER });
    await world.until('the second', () => world.ours().length === 2);
    world.change({ spec: THIRD });
    await world.shows('False/QuotaExceeded');
    const third = await world.settled();
    expect(third, 'the name is free again').to.equal(REPLACEMENT);
    expect(world.eksChanges().slice(-3)).to.deep.equal([`Delete ${REPLACEMENT}`, `Create ${third}`, `Delete ${BASE}`]);
    expect(world.gaps).to.deep.equal([]);
    await world.deleteAndFinish('web');
  });

  it('keeps each profile that has served, also if the quota allows no new one, until the user makes room', async () => {
    const world = new ReplacingWorld({ aws: { eks: { maxProfilesPerCluster: 2 } } });
    await world.startWatched({ updateStrategy: { type: 'Replace', replace: { keepPredecessorFor: '24h' } } });
    world.change({ spec: OTHER });
    await world.shows('True/PredecessorKept');
    world.change({ spec: THIRD });
    await world.shows('False/QuotaExceeded');
    await world.clock.advance(6 * HOUR);
    expect(world.active()).to.have.members([BASE, REPLACEMENT]);
    world.change({ spec: { ...OTHER, updateStrategy: { replace: null } } });
    expect(await world.settled()).to.equal(REPLACEMENT);
    await world.deleteAndFinish('web');
  });

  it('takes the next name if a stranger has the first one', async () => {
    const world = new ReplacingWorld();
    world.aws.admin.putProfile({ cluster: EKS_CLUSTER, name: REPLACEMENT, podExecutionRoleArn: THEIR_ROLE });
    await world.startWatched();
    world.change({ spec: OTHER });
    expect(await world.settled()).to.equal(`9998-${BASE}`);
    expect(world.aws.admin.profiles().map(({ name }) => name)).to.include(REPLACEMENT);
    await world.end();
  });

  it('stays with an explicit name that a stranger has, and keeps the old profile', async () => {
    const world = new ReplacingWorld();
    world.aws.admin.putProfile({ cluster: EKS_CLUSTER, name: 'theirs', podExecutionRoleArn: THEIR_ROLE });
    await world.startWatched();
    world.change({ spec: { profileName: 'theirs' } });
    await world.shows('False/ProfileNotOwned');
    await world.clock.advance(HOUR);
    expect(world.active()).to.deep.equal([BASE]);
    world.change({ spec: { profileName: null } });
    expect(await world.settled()).to.equal(BASE);
    await world.end();
  });

  it('finishes what it began, and keeps the new profile, after a switch to Reject', async () => {
    const world = new ReplacingWorld();
    await world.startWatched();
    world.change({ spec: OTHER });
    await world.until('the creation', () => world.ours().length === 2);
    world.change({ spec: { updateStrategy: { type: 'Reject' } } });
    const name = await world.settled();
    expect(name).to.equal(REPLACEMENT);
    const before = world.mutations().length;
    world.patch(PLURAL, 'web', { status: null }, 'status');
    await world.clock.advance(HOUR);
    expect(await world.settled(), 'after the loss of the status').to.equal(name);
    expect(world.mutations()).to.have.length(before);
    await world.end();
  });

  it('waits for the owner tag that somebody took from the old profile, and stays Ready', async () => {
    const world = new ReplacingWorld();
    await world.startWatched();
    world.change({ spec: OTHER });
    await world.shows('True/PredecessorKept');
    const [old] = world.ours().filter(({ name }) => name === BASE);
    world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: BASE, tags: {} });
    await world.until('Stalled', () => world.shown('Stalled') === 'True/OwnershipTagMissing', HOUR);
    expect(world.isReady('web')).to.equal(true);
    world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: BASE, tags: old?.tags ?? {} });
    await world.settled();
    await world.end();
  });

  it('says why IAM keeps its former role, also while the role in use is not in the spec', async () => {
    const world = new ReplacingWorld();
    await world.startWatched();
    changeRoleByHand(world, ROLE, { inlinePolicies: { logs: '{}' } });
    world.change({ spec: { roleName: 'other' } });
    await world.shows('True/RoleBlocked', 'Stalled');
    world.change({ spec: { roleName: null } });
    await world.clock.advance(HOUR);
    expect([world.shown('Stalled'), world.shown()]).to.deep.equal(['True/RoleBlocked', 'True/Ready']);
    changeRoleByHand(world, ROLE, { inlinePolicies: {} });
    await world.until('the end of the former role', () => world.roles().length === 1, HOUR);
    expect(world.roles()).to.deep.equal(['other']);
    await world.end();
  });

  for (const moment of ['False/Replacing', 'True/PredecessorKept', 'True/RemovingPredecessor']) {
    it(`finds all its profiles when it is deleted at ${moment}`, async () => {
      const world = new ReplacingWorld();
      await world.startWatched();
      world.change({ spec: { ...OTHER, roleName: 'other-role' } });
      await world.shows(moment);
      await world.deleteAndFinish('web');
    });

    it(`finds all its profiles after a clusterctl move at ${moment}, which drops the status`, async () => {
      const world = new ReplacingWorld();
      await world.startWatched();
      world.change({ spec: { profileName: 'renamed', roleName: 'other-role' } });
      await world.shows(moment);
      await world.clock.advance(20 * SECOND);
      await world.stopAll();
      world.patch(PLURAL, 'web', { status: null }, 'status');
      world.start();
      await world.clock.advance(SECOND);
      expect(await world.settled()).to.equal('renamed');
      expect(world.roles()).to.deep.equal(['other-role']);
      await world.end();
    });

    it(`is torn down with its cluster at ${moment}`, async () => {
      const world = new ReplacingWorld();
      await world.startWatched();
      world.change({ spec: OTHER });
      await world.shows(moment);
      world.remove('awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
      await world.gone('web');
      await world.finish();
    });
  }

  it('leaves all its profiles in AWS with deletionPolicy Retain, and names them', async () => {
    const world = new ReplacingWorld();
    await world.startWatched({ deletionPolicy: 'Retain' });
    world.change({ spec: OTHER });
    await world.shows('True/PredecessorKept');
    world.delete('web');
    await world.gone('web');
    expect(world.ours()).to.have.length(2);
    world.applyWith('web', { ...REPLACE, ...OTHER });
    await world.ready('web');
    await world.settled();
    await world.end();
  });

  it('changes nothing while its Cluster is paused', async () => {
    const world = new ReplacingWorld();
    await world.startWatched();
    world.patch('clusters', CLUSTER, { spec: { paused: true } });
    world.change(OTHER);
    await world.clock.advance(HOUR);
    expect(world.ours()).to.have.length(1);
    world.patch('clusters', CLUSTER, { spec: { paused: false } });
    await world.settled();
    await world.end();
  });
});
