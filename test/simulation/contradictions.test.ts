import { expect } from 'chai';
import { PLURAL, RECORD_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../api/v1beta2/index.ts';
import { NAMESPACE_TAG, OWNER_TAG } from '../../pkg/fargate/tags/tag-keys.ts';
import { CAPA_TRUST } from '../world/aws/capa-resources.ts';
import { changeRoleByHand, deleteHeld, denyAction, removeHeldFinalizers } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, HOUR, MINUTE } from './world/cluster.ts';
import { recordAnnotation } from './world/records.ts';
import { BASE, OTHER, REPLACEMENT, ReplaceableWorld } from './world/replaceable-world.ts';

const LEGACY = 'legacy';

/** Creates a profile by hand, which any role of the account serves. */
function putLegacy(world: ReplaceableWorld, namespace: string, tags: Readonly<Record<string, string>> = {}): string {
  const name = `${CLUSTER}-${LEGACY}_fargate`;
  const role = world.aws.admin.putRole({
    name,
    trustPolicy: CAPA_TRUST,
    tags: { [`kubernetes.io/cluster/${CLUSTER}`]: 'owned' },
  });
  const selectors = [{ namespace, labels: {} }];
  world.aws.admin.putProfile({ cluster: EKS_CLUSTER, name: LEGACY, podExecutionRoleArn: role.arn, selectors, tags });
  return role.arn;
}

describe('An object whose finalizer another client has removed', () => {
  for (const [what, change] of [
    ['with all annotations', { metadata: { finalizers: null, annotations: null } }],
    ['alone', { metadata: { finalizers: null } }],
  ] as const)
    it(`${what}, while its cluster is being deleted, is deleted together with its profile`, async () => {
      const world = new ReplaceableWorld();
      await world.startWithReady('web');
      deleteHeld(world, 'clusters', CLUSTER);
      await world.clock.advance(2 * MINUTE);
      world.change(change);
      await world.clock.advance(2 * MINUTE);
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
      await world.gone('web');
      expect(world.names).to.deep.equal([]);
      removeHeldFinalizers(world);
      await world.finish();
    });

  it('while it waits for its control plane gets the finalizer back', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReady('web');
    world.patch('clusters', CLUSTER, { spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, name: 'missing' } } });
    await world.clock.advance(MINUTE);
    world.change({ metadata: { finalizers: null } });
    await world.clock.advance(MINUTE);
    world.delete('web');
    await world.gone('web');
    expect(world.names).to.deep.equal([]);
    await world.finish();
  });
});

describe('A copy of an object, with its record and without status,', () => {
  it('gets no finalizer in another management cluster while it waits, and may be deleted', async () => {
    const home = new ReplaceableWorld();
    const away = new ReplaceableWorld({ shareAwsWith: home });
    await home.startWithReady('web');
    await home.stopAll();
    const { metadata, spec } = home.backup();
    away.patch('clusters', CLUSTER, { spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, name: 'missing' } } });
    away.create(PLURAL, { metadata: { name: 'web', annotations: metadata.annotations }, spec });
    away.start();
    await away.clock.advance(2 * MINUTE);
    away.delete('web');
    await away.gone('web');
    expect(home.names).to.deep.equal([BASE]);
  });

  it('is not deleted again by a teardown', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaceable();
    const { metadata, spec } = world.backup();
    deleteHeld(world, 'clusters', CLUSTER);
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    await world.gone('web');
    world.create(PLURAL, { metadata: { name: 'web', annotations: metadata.annotations }, spec });
    await world.clock.advance(10 * MINUTE);
    expect(world.shown()).to.equal('False/ClusterDeleting');
  });
});

describe('An old record that contradicts status', () => {
  for (const [what, over] of [
    ['region', { in: `${ACCOUNT}/eu-west-1/${EKS_CLUSTER}` }],
    ['EKS cluster', { eksCluster: 'former' }],
  ] as const)
    it(`in the ${what} stops a deletion until a user removes the record`, async () => {
      const world = new ReplaceableWorld();
      await world.startWithReady('web');
      world.change({ metadata: { annotations: recordAnnotation({ name: 'web' }, over) } });
      await world.shows('True/TargetChanged', 'Stalled');
      world.delete('web');
      await world.shows('True/RecordUnreadable', 'Deleting');
      expect(world.names).to.deep.equal([BASE]);
      world.change({ metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
      await world.gone('web');
      expect(world.names).to.deep.equal([]);
      await world.finish();
    });

  it('because it lists nothing does not release the object while the location is unknown', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReady('web');
    await world.stopAll();
    world.change({ metadata: { annotations: recordAnnotation({ name: 'web' }, { in: 'nowhere' }) } });
    for (const [plural, name] of [
      ['awsmanagedcontrolplanes', CONTROL_PLANE_REF.name],
      ['clusters', CLUSTER],
    ] as const) {
      world.patch(plural, name, { metadata: { finalizers: null } });
      world.remove(plural, name);
    }
    world.delete('web');
    world.start();
    await world.shows('True/TargetUnknown', 'Deleting');
    world.change({ metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
    await world.gone('web');
    expect(world.names).to.deep.equal([]);
    await world.finish();
  });
});

describe('A profile with the owner tag of an object that has another profile, under Reject,', () => {
  it('is not deleted if it was retained, and the next object of that name adopts another profile', async () => {
    for (const adoptionPolicy of ['Owned', 'Always']) {
      const world = new ReplaceableWorld();
      await world.startWithReadyObject('web', { deletionPolicy: 'Retain' });
      world.delete('web');
      await world.gone('web');
      const roleARN = putLegacy(
        world,
        LEGACY,
        adoptionPolicy === 'Owned' ? { [`kubernetes.io/cluster/${CLUSTER}`]: 'owned' } : {},
      );
      const selectors = [{ namespace: LEGACY }];
      world.applyWith('web', { profileName: LEGACY, roleARN, adoptionPolicy, deletionPolicy: 'Retain', selectors });
      await world.until('stalled', () => world.shown('Stalled').startsWith('True/'), HOUR);
      await world.clock.advance(10 * MINUTE);
      expect(world.shown('Stalled')).to.equal(
        adoptionPolicy === 'Owned' ? 'True/ManagedElsewhere' : 'True/SpecDiffers',
      );
      expect(world.eksChanges()).to.deep.equal([`Create ${BASE}`]);
    }
  });

  it('is not deleted after a take-over', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReadyObject('web', { deletionPolicy: 'Retain' });
    const id = world.eksProfile('web')?.arn.split('/').at(3) ?? '';
    world.delete('web');
    await world.gone('web');
    const roleARN = putLegacy(world, LEGACY, { [`kubernetes.io/cluster/${CLUSTER}`]: 'owned' });
    const selectors = [{ namespace: LEGACY }];
    world.applyWith('web', { profileName: LEGACY, roleARN, deletionPolicy: 'Retain', selectors });
    await world.shows('True/ManagedElsewhere', 'Stalled');
    world.change({ metadata: { annotations: { [TAKE_OVER_ANNOTATION]: id } } });
    await world.clock.advance(30 * MINUTE);
    expect(world.shown('Stalled')).to.equal('True/SpecDiffers');
    expect(world.eksChanges()).to.deep.equal([`Create ${BASE}`]);
  });

  for (const namespace of ['web', LEGACY])
    it(`is not deleted, and does not replace the serving profile, if the tag was added later (namespace ${namespace})`, async () => {
      const world = new ReplaceableWorld();
      putLegacy(world, namespace);
      await world.clock.advance(10 * MINUTE);
      await world.startWithReady('web');
      world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: LEGACY, tags: { [OWNER_TAG]: 'default/web' } });
      await world.clock.advance(3 * HOUR);
      expect(world.shown('Stalled')).to.equal('True/ManagedElsewhere');
      expect(world.shown()).to.equal('True/Ready');
      expect(world.eksChanges()).to.deep.equal([`Create ${BASE}`]);
    });
});

describe("Another management cluster's profile in ManagedElsewhere", () => {
  it('does not become an entry of this object when this object loses its record', async () => {
    const home = new ReplaceableWorld();
    const away = new ReplaceableWorld({ shareAwsWith: home });
    await home.startReplaceable();
    away.restore(home.backup(), { status: false });
    await home.stopAll();
    away.start();
    await away.ready('web');
    const updateStrategy = { type: 'Replace', replace: { keepPredecessorFor: '168h' } };
    away.change({ spec: { ...OTHER, updateStrategy } });
    await away.shows('True/PredecessorKept');
    home.start();
    home.triggerReconcile('web');
    await home.shows('True/ManagedElsewhere', 'Stalled');
    expect(home.profile('web')).not.to.have.nested.property('status.predecessors');
    expect(home.names.toSorted()).to.deep.equal([REPLACEMENT, BASE].toSorted());
  });
});

describe('A predecessor', () => {
  const issue = { code: 'AccessDenied', message: 'the pod execution role cannot be assumed', resourceIds: [] };

  for (const [what, sick] of [
    ['its successor', [REPLACEMENT]],
    // For example, if nothing can assume the role that both use. The pods that already run do not need it.
    ['both profiles', [REPLACEMENT, BASE]],
  ] as const)
    it(`stays while EKS reports health issues of ${what}`, async () => {
      const world = new ReplaceableWorld();
      const report = (issues: readonly (typeof issue)[]): void => {
        for (const name of sick) world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name, issues });
      };
      await world.startReplaceable({ updateStrategy: { type: 'Replace', replace: { keepPredecessorFor: '10m' } } });
      world.change({ spec: OTHER });
      await world.shows('True/PredecessorKept');
      report([issue]);
      world.triggerReconcile('web');
      await world.clock.advance(HOUR);
      expect(world.names.toSorted()).to.deep.equal([REPLACEMENT, BASE].toSorted());
      report([]);
      await world.until('only the successor is left', () => world.names.join() === REPLACEMENT, HOUR);
      await world.deleteAndFinish('web');
    });
});

describe('Predecessors of a successor with health issues', () => {
  const issue = { code: 'ClusterUnreachable', message: 'EKS cannot reach the cluster', resourceIds: [] };

  it('are deleted but for the last one, so that they do not fill the quota', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaceable();
    for (const namespace of ['one', 'two', 'three']) {
      const before = world.names;
      world.change({ spec: { selectors: [{ namespace }] } });
      const added = (): string => world.names.find((each) => !before.includes(each)) ?? '';
      const isActive = (): boolean => added() !== '' && world.shown() === 'True/PredecessorKept';
      await world.until('the next profile', isActive, HOUR);
      world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: added(), issues: [issue] });
      await world.clock.advance(30 * MINUTE);
      expect(world.names).to.have.length(2).and.to.include(BASE);
    }
    for (const name of world.names) world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name, issues: [] });
    await world.until('only the successor is left', () => world.names.length === 1, HOUR);
  });

  it('are drained once and deleted at drainTimeout, but for the last one', async () => {
    const world = new ReplaceableWorld();
    const updateStrategy = { type: 'Replace', replace: { drainTimeout: '5m' } };
    await world.startReplaceable({ updateStrategy });
    world.workload.refusalOf = () => 'budget';
    for (const namespace of ['one', 'two']) {
      const before = world.names;
      world.change({ spec: { selectors: [{ namespace: 'app' }, { namespace }] } });
      const added = (): string => world.names.find((each) => !before.includes(each)) ?? '';
      await world.until(
        'the next profile',
        () => added() !== '' && world.eksProfile('web', added())?.status === 'ACTIVE',
        HOUR,
      );
      world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: added(), issues: [issue] });
      if (namespace === 'one') {
        world.workload.takerOf = () => added();
        world.workload.create({ namespace: 'app', owner: { kind: 'ReplicaSet', name: 'web-7d9c' } });
      }
    }
    await world.clock.advance(HOUR);
    expect(world.names).to.have.length(2).and.to.include(BASE);
    const started = world.objects('events').filter(({ reason }) => reason === 'StartedDrain');
    expect(started.map(({ count = 1 }) => count)).to.deep.equal([1]);
    for (const name of world.names) world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name, issues: [] });
    await world.until('only the successor is left', () => world.names.length === 1, HOUR);
  });

  it('are drained from the beginning once the issues are solved', async () => {
    const world = new ReplaceableWorld();
    const active = () => world.aws.admin.profiles().filter(({ status }) => status === 'ACTIVE');
    world.workload.takerOf = () =>
      active()
        .map(({ name }) => name)
        .toSorted()[0] ?? '';
    const updateStrategy = { type: 'Replace', replace: { drainTimeout: '10m' } };
    await world.startReplaceable({ updateStrategy });
    for (let pod = 0; pod < 3; pod += 1)
      world.workload.create({ namespace: 'app', owner: { kind: 'ReplicaSet', name: 'web-7d9c' } });
    await world.clock.advance(2 * MINUTE);
    world.workload.refusalOf = () => 'budget';
    world.change({ spec: { selectors: [{ namespace: 'app' }, { namespace: 'more' }] } });
    await world.reason('web', 'Draining');
    world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: REPLACEMENT, issues: [issue] });
    await world.clock.advance(HOUR);
    world.workload.refusalOf = () => undefined;
    world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: REPLACEMENT, issues: [] });
    await world.until('only the successor is left', () => world.names.join() === REPLACEMENT, HOUR);
    expect(world.workload.evicted).to.have.length(3);
  });
});

describe('A restore that recreates objects in another order', () => {
  const X = `arn:aws:iam::${ACCOUNT}:policy/x`;
  const BOUNDARY = `arn:aws:iam::${ACCOUNT}:policy/boundary`;
  type Kept = 'metadata' | 'status';
  const restored = async (
    shared: object,
    kept: readonly Kept[],
    settings: object = { roleAdditionalPolicies: [X] },
  ): Promise<ReplaceableWorld> => {
    const world = new ReplaceableWorld();
    for (const name of ['x', 'boundary']) world.aws.admin.putPolicy({ name });
    await world.startWithReadyObject('web', { ...shared, ...settings });
    world.applyWith('api', shared);
    await world.until('the conflict', () => world.condition('api', 'Stalled')?.status === 'True', HOUR);
    await world.stopAll();
    const backups = ['api', 'web'].map((name) => structuredClone(world.profile(name)));
    for (const name of ['api', 'web']) {
      world.patch(PLURAL, name, { metadata: { finalizers: null } });
      world.remove(PLURAL, name);
    }
    for (const backup of backups) {
      const { name = '', labels, annotations, finalizers } = backup?.metadata ?? {};
      const own = kept.includes('metadata') ? { annotations, finalizers } : {};
      world.create(PLURAL, { metadata: { name, labels, ...own }, spec: backup?.['spec'] });
      if (kept.includes('status')) world.patch(PLURAL, name, { status: backup?.['status'] }, 'status');
    }
    world.start();
    await world.clock.advance(30 * MINUTE);
    return world;
  };
  const shownIn = (world: ReplaceableWorld) => [world.shown(), world.condition('api', 'Stalled')?.reason];

  for (const [what, kept] of [
    ['with their annotations', ['metadata']],
    ['with only their status', ['status']],
    ['with only their spec', []],
  ] as const) {
    it(`${what} leaves the role of the serving profile as it is`, async () => {
      const world = await restored({ roleName: 'shared' }, kept);
      expect(world.role('web', 'shared')?.attachedPolicies).to.include(X);
      expect(shownIn(world)).to.deep.equal(['True/Ready', 'RoleSettingsConflict']);
    });

    it(`${what} leaves the permissions boundary of the serving profile's role as it is`, async () => {
      const world = await restored({ roleName: 'shared' }, kept, { rolePermissionsBoundary: BOUNDARY });
      expect(world.role('web', 'shared')?.permissionsBoundary).to.equal(BOUNDARY);
      expect(shownIn(world)).to.deep.equal(['True/Ready', 'RoleSettingsConflict']);
    });

    it(`${what} leaves a profile to the object that created it`, async () => {
      const world = await restored({ profileName: 'one' }, kept);
      expect(shownIn(world)).to.deep.equal(['True/Ready', 'ProfileNotOwned']);
    });
  }
});

describe('A permissions boundary', () => {
  it("stays on the role of a serving profile if another provider's CRD drops its field and status.initialization", async () => {
    const world = new ReplaceableWorld();
    const rolePermissionsBoundary = world.aws.admin.putPolicy({ name: 'boundary' });
    await world.startWithReadyObject('web', { rolePermissionsBoundary });
    await world.stopAll();
    world.change({ spec: { rolePermissionsBoundary: null } });
    world.patch(PLURAL, 'web', { status: { initialization: null } }, 'status');
    world.start();
    await world.clock.advance(HOUR);
    expect(world.shown()).to.equal('True/Ready');
    expect(world.role('web')?.permissionsBoundary).to.equal(rolePermissionsBoundary);
    await world.deleteAndFinish('web');
  });
});

describe('A role that another client has tagged for another namespace', () => {
  it('does not prevent the controller from applying the spec of its object', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaceable({ roleName: 'custom' });
    world.change({ spec: { roleName: null } });
    await world.clock.advance(5 * MINUTE);
    const role = world.aws.admin.roles().find(({ name }) => name === 'custom');
    changeRoleByHand(world, 'custom', { tags: { ...role?.tags, [NAMESPACE_TAG]: 'other' } });
    world.change({ spec: { additionalTags: { a: 'b' } } });
    await world.clock.advance(10 * MINUTE);
    const { generation } = world.profile('web')?.metadata ?? {};
    expect(world.profile('web')).to.have.nested.property('status.observedGeneration', generation);
  });
});

describe('A role that lost its tags, and whose object no longer names it', () => {
  for (const type of ['Reject', 'Replace'])
    it(`stays the role of the Ready profile, and is not changed, with updateStrategy ${type}`, async () => {
      const world = new ReplaceableWorld();
      const role = () => world.role('', 'custom_fargate');
      await world.startReplaceable({ roleName: 'custom_fargate', updateStrategy: { type } });
      world.change({ spec: { roleName: null } });
      await world.clock.advance(5 * MINUTE);
      const tags = role()?.tags ?? {};
      changeRoleByHand(world, 'custom_fargate', { tags: {} });
      const { length } = world.mutations();
      await world.shows('True/OwnershipTagMissing', 'Stalled');
      await world.clock.advance(2 * HOUR);
      expect([world.shown(), world.shown('Stalled')]).to.deep.equal(['True/Ready', 'True/OwnershipTagMissing']);
      changeRoleByHand(world, 'custom_fargate', { attachedPolicies: [] });
      await world.clock.advance(2 * HOUR);
      expect(world.operations(length)).to.deep.equal([]);
      changeRoleByHand(world, 'custom_fargate', { tags });
      await world.shows('False/NotStalled', 'Stalled');
      expect(role()?.attachedPolicies).to.have.length(1);
      await world.deleteAndFinish('web');
    });
});

describe('A former role to which another client attaches a policy again and again', () => {
  /** Returns a world in which `web` has the role `former`, and a function that ends the other client's work and the test. */
  async function contested(spec: object = {}) {
    const world = new ReplaceableWorld();
    await world.startReplaceable({ roleName: 'former', ...spec });
    const policy = world.aws.admin.putPolicy({ name: 'theirs' });
    const attach = (): void =>
      changeRoleByHand(world, 'former', {
        attachedPolicies: [...(world.role('', 'former')?.attachedPolicies ?? []), policy],
      });
    attach();
    const stop = world.aws.onCall(({ operation, identifiers }, phase) => {
      const isOurs = identifiers['PolicyArn'] === policy;
      if (phase === 'after' && operation === 'DetachRolePolicy' && isOurs) attach();
    });
    const end = async (): Promise<void> => {
      stop();
      await world.until('the end of the role', () => world.role('', 'former') === undefined, HOUR);
      world.delete('web');
      await world.gone('web');
      await world.finish();
    };
    return { world, end };
  }

  for (const [moment, type, begin] of [
    ['during the deletion of its object', 'Deleting', (world: ReplaceableWorld) => world.delete('web')],
    ['after a replacement', 'Stalled', (world: ReplaceableWorld) => world.change({ spec: { roleName: 'second' } })],
  ] as const)
    it(`is reported ${moment}, with growing pauses, until that client stops`, async () => {
      const { world, end } = await contested();
      begin(world);
      await world.shows('True/AWSError', 'Stalled');
      const { length } = world.mutations();
      for (let minute = 0; minute < 120; minute += 1) {
        await world.clock.advance(MINUTE);
        expect([world.shown(type), world.shown('Stalled')]).to.deep.equal(['True/AWSError', 'True/AWSError']);
      }
      expect(world.operations(length)).to.have.length.below(100);
      await end();
    });

  it('is tried with growing pauses also while AWS denies an optional change', async () => {
    const { world, end } = await contested({ additionalTags: { team: 'a' } });
    denyAction(world, 'eks:TagResource');
    world.change({ spec: { roleName: 'second' } });
    await world.until('one profile', () => world.names.join() === REPLACEMENT && world.shown() === 'True/Ready', HOUR);
    world.change({ spec: { additionalTags: { team: 'b' } } });
    await world.clock.advance(10 * MINUTE);
    const { length } = world.mutations();
    await world.clock.advance(HOUR);
    expect(world.operations(length)).to.have.length.below(100);
    await end();
  });
});

describe('An answer of AWS that contradicts another one', () => {
  it('is reported all the time if AWS contradicts itself about two resources in turns', async () => {
    const world = new ReplaceableWorld();
    world.start('--sync-period', '1m');
    world.applyWith('web', { additionalTags: { team: 'a' } });
    await world.ready('web');
    const again = 'error:ConcurrentModification:again' as const;
    world.aws.admin.addFault({ operation: 'TagResource', kind: again, times: 100_000 });
    let asked = 0;
    world.aws.onCall(({ operation }, phase) => {
      if (phase !== 'before' || operation !== 'TagRole') return;
      asked += 1;
      if (asked % 2 === 0) world.aws.admin.addFault({ operation, kind: again, times: 1 });
    });
    world.change({ spec: { additionalTags: { team: 'b' } } });
    await world.shows('True/AWSError', 'Stalled');
    for (let minute = 0; minute < 120; minute += 1) {
      await world.clock.advance(MINUTE);
      const role = world.role('web');
      changeRoleByHand(world, `${CLUSTER}-default_web_fargate`, { tags: { ...role?.tags, team: `x${minute}` } });
      expect(world.shown('Stalled')).to.equal('True/AWSError');
    }
    world.aws.admin.clearFaults();
    world.delete('web');
    await world.gone('web');
    await world.finish();
  });

  it('is no reported contradiction if another error was reported before it', async () => {
    const world = new ReplaceableWorld();
    world.aws.admin.addFault({ operation: 'CreateRole', kind: 'error:WeirdException:what', times: 20 });
    world.aws.admin.addFault({
      operation: 'AttachRolePolicy',
      kind: `error:NoSuchEntity:The role with name ${CLUSTER}-default_web_fargate cannot be found.`,
      times: 1,
    });
    world.start();
    world.applyWith('web', {});
    await world.shows('True/AWSError', 'Stalled');
    await world.until('the role', () => world.role('web') !== undefined, 2 * HOUR);
    await world.until('web is Ready', () => world.isReady('web'), MINUTE);
    await world.deleteAndFinish('web');
  });
});

describe('A Ready object', () => {
  it('does not stay Ready without an observation, if its record is unreadable', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReady('web');
    world.change({ metadata: { annotations: { [RECORD_ANNOTATION]: '{"v":2}' } } });
    await world.shows('True/RecordUnreadable', 'Stalled');
    expect(world.shown()).to.equal('True/Ready');
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: BASE });
    await world.clock.advance(HOUR);
    expect(world.shown()).to.equal('Unknown/RecordUnreadable');
  });
});
