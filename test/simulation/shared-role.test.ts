import { expect } from 'chai';
import { sleep } from 'controller-runtime/async';
import type { KubeObject } from 'controller-runtime/client';
import { PAUSED_ANNOTATION, PLURAL, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';
import { STATIC_IDENTITY } from '../world/aws/identities.ts';
import { goodKeys, putStaticIdentity } from './phases/identity-objects.ts';
import { ROLE, changeRoleByHand } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, EKS_CLUSTER, HOUR, MINUTE, SECOND } from './world/cluster.ts';
import { statusOf } from './world/problems.ts';
import { recordAnnotation } from './world/records.ts';
import { OTHER, REPLACE, ReplaceableWorld } from './world/replaceable-world.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { createTenantCluster } from './world/tenants.ts';

const READ_POLICY = 'arn:aws:iam::aws:policy/ReadOnlyAccess';

describe('a role shared by two objects', () => {
  it('is deleted when both objects are deleted, even if the first finalizer removal takes long', async () => {
    const names = ['a', 'b'];
    const world = new SimulatedWorld({ aws: { latencyMs: 5 } });
    // While EKS creates the Fargate profile of another client, the AWSFargateProfiles `a` and `b` wait and have no
    // Fargate profile yet. So the manager can delete `a` and `b` at the same time, because EKS need not delete two
    // Fargate profiles one after the other.
    world.aws.admin.putProfile({
      cluster: EKS_CLUSTER,
      name: 'theirs',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/theirs',
      status: 'CREATING',
    });
    world.start();
    for (const name of names) world.applyWith(name, { roleName: 'shared-pods' });
    await world.until('both wait for their turn', () =>
      names.every((name) => world.condition(name)?.reason === 'WaitingForSibling'),
    );
    expect(world.aws.admin.roles().some(({ name }) => name === 'shared-pods')).to.equal(true);

    let releases = 0;
    world.api.intercept = async ({ method, body, signal }) => {
      const isRelease = method === 'PATCH' && String(body).includes('"finalizers"');
      if (isRelease) releases += 1;
      if (isRelease && releases === 1) await sleep(world.clock, 3 * SECOND, signal);
      return undefined;
    };
    world.delete(...names);
    await world.gone(...names);
    expect(releases).to.be.at.least(2);
    expect(world.aws.admin.roles().some(({ name }) => name === 'shared-pods')).to.equal(false);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' });
    await world.finish();
  });

  it('is created once with the tags of all objects, and deleted with the last one', async () => {
    const names = ['a', 'b', 'c'];
    const world = new SimulatedWorld();
    world.start();
    for (const name of names) world.applyWith(name, { roleName: 'shared-pods', additionalTags: { [name]: 'yes' } });
    await world.ready(...names);
    expect(world.role('', 'shared-pods')?.tags).to.include({ a: 'yes', b: 'yes', c: 'yes' });
    world.delete('a', 'b');
    await world.gone('a', 'b');
    expect(world.role('', 'shared-pods')?.attachedPolicies).to.have.length(1);
    await world.deleteAndFinish('c');
    for (const operation of ['CreateRole', 'DeleteRole'])
      expect(world.operations().filter((each) => each === operation)).to.have.length(1);
    expect(world.problems()).to.deep.equal([]);
  });

  for (const operation of ['DeleteFargateProfile', 'ListAttachedRolePolicies', 'DetachRolePolicy', 'DeleteRole'])
    it(`is complete for an object that is created during the ${operation} of the other one`, async () => {
      const world = new SimulatedWorld();
      await world.startWithReadyObject('a', { roleName: 'shared-pods' });
      const before = world.role('', 'shared-pods')?.id;
      world.delete('a');
      if (operation === 'ListAttachedRolePolicies')
        await world.until('the end of the profile', () => world.eksProfile('a') === undefined);
      const forget = world.aws.onCall((call, phase) => {
        if (phase !== 'before' || call.operation !== operation) return;
        forget();
        world.applyWith('b', { roleName: 'shared-pods' });
      });
      await world.gone('a');
      await world.ready('b');
      const { id, attachedPolicies } = world.role('', 'shared-pods') ?? {};
      expect(statusOf(world.profile('b')).role).to.deep.include({ name: 'shared-pods', id, managed: true });
      expect(attachedPolicies).to.deep.equal([EKS_POLICY]);
      if (operation === 'DeleteFargateProfile') expect(id, 'the role is kept').to.equal(before);
      await world.deleteAndFinish('b');
    });

  it('is not kept for an object that waits for credentials of another account, which gets a role there', async () => {
    const account = '210987654321';
    const world = new SimulatedWorld();
    const elsewhere = { namespace: 'default', name: 'abroad', region: 'us-east-1' };
    createTenantCluster(world, elsewhere);
    world.aws.admin.createCluster({ name: 'default_abroad', account });
    world.patch('awsmanagedcontrolplanes', 'abroad-control-plane', {
      spec: { identityRef: { kind: STATIC_IDENTITY, name: 'team-a' } },
    });
    world.start();
    world.applyWith('ours', { roleName: 'everywhere' });
    world.applyWith('theirs', { clusterName: 'abroad', roleName: 'everywhere' });
    await world.ready('ours');
    await world.reason('theirs', 'IdentityNotFound');
    world.delete('ours');
    await world.gone('ours');
    expect(world.role('', 'everywhere')).to.equal(undefined);
    putStaticIdentity(world, goodKeys(world, account));
    const subnetIDs = world.aws.admin.clusters().find((each) => each.account === account)?.subnets ?? [];
    world.patch(PLURAL, 'theirs', {
      spec: { subnetIDs: subnetIDs.filter(({ isPublic }) => !isPublic).map(({ id }) => id) },
    });
    await world.ready('theirs');
    expect(world.role('', 'everywhere')?.account).to.equal(account);
    await world.deleteAndFinish('theirs');
  });

  it('has the settings of the older object, until both agree', async () => {
    const world = new SimulatedWorld();
    const [mine, theirs] = ['mine', 'theirs'].map((name) => world.aws.admin.putPolicy({ name }));
    await world.startWithReadyObject('older', {
      roleName: 'shared-pods',
      rolePermissionsBoundary: mine,
      additionalTags: { owner: 'a' },
    });
    const before = world.role('', 'shared-pods');
    const { length } = world.mutations();
    world.applyWith('younger', {
      roleName: 'shared-pods',
      rolePath: '/teams/',
      rolePermissionsBoundary: theirs,
      roleAdditionalPolicies: [READ_POLICY],
      additionalTags: { owner: 'b', own: 'fine' },
    });
    expect(await world.reason('younger', 'RoleSettingsConflict')).to.equal(
      'IAM role "shared-pods" is also used by AWSFargateProfile default/older, and this object has different values for ' +
        'spec.rolePath, spec.rolePermissionsBoundary, spec.roleAdditionalPolicies, spec.additionalTags["owner"]. Set ' +
        'the same values in both objects, as far as the API server accepts them, or give this object another role with spec.roleName. Until then the ' +
        'controller changes nothing in AWS for this object.',
    );
    expect(world.operations(length)).to.deep.equal([]);
    expect(world.role('', 'shared-pods')).to.deep.equal(before);
    world.patch(PLURAL, 'younger', {
      spec: { rolePath: null, rolePermissionsBoundary: mine, additionalTags: { owner: 'a' } },
    });
    world.patch(PLURAL, 'older', { spec: { roleAdditionalPolicies: [READ_POLICY] } });
    await world.ready('younger', 'older');
    expect(world.role('', 'shared-pods')).to.deep.include({ id: before?.id, permissionsBoundary: mine });
    expect(world.role('', 'shared-pods')?.attachedPolicies).to.have.members([EKS_POLICY, READ_POLICY]);
    expect(world.role('', 'shared-pods')?.tags).to.include({ owner: 'a', own: 'fine' });
    await world.deleteAndFinish('younger', 'older');
  });

  it('is applied with the settings of the younger object as soon as the older one is deleted', async () => {
    const world = new SimulatedWorld();
    const boundary = world.aws.admin.putPolicy({ name: 'boundary' });
    await world.startWithReadyObject('older', { roleName: 'shared-pods' });
    world.applyWith('younger', { roleName: 'shared-pods', rolePermissionsBoundary: boundary });
    await world.reason('younger', 'RoleSettingsConflict');
    world.delete('older');
    await world.gone('older');
    await world.ready('younger');
    expect(world.role('', 'shared-pods')?.permissionsBoundary).to.equal(boundary);
    await world.deleteAndFinish('younger');
  });

  it('is kept for an object that names it while the watch of the manager is silent', async () => {
    const world = new SimulatedWorld({
      aws: { latencyMs: 5, eks: { createMs: 5 * SECOND, deleteMs: 10 * SECOND } },
    });
    // The manager has to find the AWSFargateProfiles that use a role. It looks in its cache only if the cache has more
    // than 50 AWSFargateProfiles. Otherwise it lists the AWSFargateProfiles from the API server.
    for (let index = 0; index < 50; index++) {
      world.create(PLURAL, {
        metadata: { name: `paused-${index}`, annotations: { [PAUSED_ANNOTATION]: '' } },
        spec: { clusterName: CLUSTER, selectors: [{ namespace: 'paused' }] },
      });
    }
    await world.startWithReadyObject('a', { roleName: 'shared-pods' });
    const roleARN = world.aws.admin.roles().find(({ name }) => name === 'shared-pods')?.arn;
    world.delete('a');
    await world.clock.advance(SECOND);
    world.applyWith('b', { roleName: 'b-pods' });
    await world.until('b waits for its turn', () => world.condition('b')?.reason === 'WaitingForSibling');
    world.api.watchLag = 30 * SECOND;
    world.patch(PLURAL, 'b', { spec: { roleName: null, roleARN } });
    await world.gone('a');
    expect(world.aws.admin.roles().map(({ name }) => name)).to.include('shared-pods');
    world.api.watchLag = 5;
    world.delete('b');
    await world.gone('b');
    world.aws.admin.removeRole({ name: 'shared-pods' });
    world.delete(...Array.from({ length: 50 }, (_, index) => `paused-${index}`));
    await world.finish();
  });
});

const SHARED = { roleName: 'shared-pods' };
const policiesIn = (world: SimulatedWorld) => world.role('', 'shared-pods')?.attachedPolicies;
const stalled = (world: SimulatedWorld, name: string) =>
  world.until(`${name} is Stalled`, () => world.condition(name, 'Stalled')?.status === 'True', HOUR);

describe('a role that serves the profile of a younger object', () => {
  /**
   * Returns a world in which `web` serves with the policy, and in which the older object `api` names the same role
   * without the policy. `creating` is `web` while EKS was creating its profile.
   */
  async function disputed() {
    const world = new ReplaceableWorld();
    await world.startWithReadyObject('api', REPLACE);
    await world.clock.advance(10 * MINUTE);
    world.applyWith('web', { ...SHARED, roleAdditionalPolicies: [READ_POLICY] });
    await world.shows('False/Creating');
    const creating = world.backup();
    await world.ready('web');
    world.patch(PLURAL, 'api', { spec: SHARED });
    await stalled(world, 'api');
    return { world, creating };
  }

  for (const [what, annotationsOf] of [
    ['its object has lost its record', () => null],
    ['the record of its object is unreadable', () => ({ [RECORD_ANNOTATION]: '{"v":2}' })],
    [
      'its object has the record of an earlier object in another EKS cluster',
      () => recordAnnotation({ name: 'web' }, { eksCluster: 'former' }),
    ],
    [
      'its object has the record from while EKS was creating the profile',
      (creating: KubeObject) => creating.metadata.annotations,
    ],
  ] as const)
    it(`keeps the settings of this object if ${what}`, async () => {
      const { world, creating } = await disputed();
      await world.stopAll();
      const { length } = world.mutations();
      world.change({ metadata: { annotations: annotationsOf(creating) } });
      world.start();
      await world.clock.advance(2 * HOUR);
      expect(policiesIn(world)).to.include(READ_POLICY);
      expect(world.operations(length)).to.deep.equal([]);
      expect(world.condition('api')?.message).to.include('is also used by AWSFargateProfile default/web');
    });

  it('keeps the settings of this object, whose profile is recreated, if the profile is deleted in AWS', async () => {
    const { world } = await disputed();
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'default_web' });
    await world.until(
      'the profile is recreated',
      () => world.names.includes('default_web') && world.shown() === 'True/Ready',
      HOUR,
    );
    await world.clock.advance(HOUR);
    expect(policiesIn(world)).to.include(READ_POLICY);
    expect(world.condition('api', 'Stalled')?.reason).to.equal('RoleSettingsConflict');
  });

  it('keeps the settings of this object until the object is deleted', async () => {
    const { world } = await disputed();
    world.delete('web');
    await world.gone('web');
    await world.until('api has the role', () => world.condition('api')?.reason === 'Ready', HOUR);
    expect(policiesIn(world)).to.deep.equal([EKS_POLICY]);
    await world.deleteAndFinish('api');
  });
});

describe('a role with the Fargate profile of an object that no manager here has', () => {
  /** Returns a world in which `web` serves with the policy, and in which `api` names the same role without it. */
  async function disputed(spec: object = {}): Promise<ReplaceableWorld> {
    const world = new ReplaceableWorld();
    await world.startWithReadyObject('web', { ...SHARED, roleAdditionalPolicies: [READ_POLICY], ...spec });
    world.applyWith('api', SHARED);
    await stalled(world, 'api');
    return world;
  }

  it('keeps the policies of a profile that a deletion has retained, until that profile is gone', async () => {
    const world = await disputed({ deletionPolicy: 'Retain' });
    world.delete('web');
    await world.gone('web');
    await world.clock.advance(2 * HOUR);
    expect(policiesIn(world)).to.include(READ_POLICY);
    expect(world.condition('api')?.message).to.equal(
      'IAM role "shared-pods" is also used by Fargate profile "default_web", whose AWSFargateProfile names another role, ' +
        "is being deleted, or is not in this management cluster, and the role differs from this object's spec.roleAdditionalPolicies. Change " +
        'spec.roleAdditionalPolicies to match the role, delete that Fargate profile if no pods need it, or give this ' +
        'object another role with spec.roleName. Until then the controller keeps these settings of the role, and makes ' +
        'no other changes in AWS for this object.',
    );
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'default_web' });
    await world.until('api is Ready', () => world.condition('api')?.reason === 'Ready', HOUR);
    expect(policiesIn(world)).to.deep.equal([EKS_POLICY]);
    await world.deleteAndFinish('api');
  });

  it('keeps the policies of a profile that a deletion retains, while that deletion waits', async () => {
    const world = await disputed({ deletionPolicy: 'Retain' });
    const hold = 'example.com/hold';
    world.change({ metadata: { finalizers: [...(world.profile('web')?.metadata.finalizers ?? []), hold] } });
    world.delete('web');
    await world.clock.advance(HOUR);
    expect(world.profile('web')?.metadata.finalizers).to.deep.equal([hold]);
    expect(policiesIn(world)).to.include(READ_POLICY);
    world.change({ metadata: { finalizers: null } });
    await world.clock.advance(HOUR);
    expect(policiesIn(world)).to.include(READ_POLICY);
    expect(world.condition('api', 'Stalled')?.reason).to.equal('RoleSettingsConflict');
  });

  for (const [what, updateStrategy] of [
    [
      'a replaced profile, whose object now names another role',
      { type: 'Replace', replace: { keepPredecessorFor: '6h' } },
    ],
    ['a profile, whose spec now names another role', { type: 'Reject' }],
  ] as const)
    it(`keeps the policies of ${what}`, async () => {
      const world = await disputed();
      world.change({ spec: { roleName: 'own-pods', updateStrategy } });
      await world.clock.advance(2 * HOUR);
      expect(world.eksProfile('web')?.status).to.equal('ACTIVE');
      expect(policiesIn(world)).to.include(READ_POLICY);
    });

  for (const isInSpec of [false, true])
    it(`gets the permissions boundary that the operator requires${isInSpec ? ', and the spec too' : ''}, although a deletion has retained the profile`, async () => {
      const world = new ReplaceableWorld();
      const boundary = world.aws.admin.putPolicy({ account: ACCOUNT, name: 'bound' });
      await world.startWithReadyObject('web', { ...SHARED, deletionPolicy: 'Retain' });
      world.delete('web');
      await world.gone('web');
      await world.stopAll();
      world.start('--require-permissions-boundary=arn:aws:iam::*:policy/bound');
      world.applyWith('api', { ...SHARED, ...(isInSpec && { rolePermissionsBoundary: boundary }) });
      await world.ready('api');
      expect(world.role('', 'shared-pods')?.permissionsBoundary).to.equal(boundary);
      world.delete('api');
      await world.gone('api');
    });

  for (const isLater of [false, true])
    it(`does not change again and again if another management cluster wants ${isLater ? 'a policy later' : 'another policy'}`, async () => {
      const home = new ReplaceableWorld();
      const away = new ReplaceableWorld({ shareAwsWith: home });
      const policy = { roleAdditionalPolicies: [READ_POLICY] };
      home.start();
      home.applyWith('web', { ...SHARED, ...(isLater ? {} : policy) });
      await home.ready('web');
      away.start();
      away.applyWith('api', SHARED);
      await home.clock.advance(30 * MINUTE);
      if (isLater) home.change({ spec: policy });
      await stalled(away, 'api');
      const { length } = home.mutations();
      await home.clock.advance(3 * HOUR);
      expect(home.operations(length)).to.deep.equal([]);
      expect(policiesIn(home)).to.include(READ_POLICY);
      expect([home.shown(), away.condition('api')?.reason]).to.deep.equal(['True/Ready', 'RoleSettingsConflict']);
      expect(away.condition('api')?.message).to.include('Fargate profile "default_web"');
      away.patch(PLURAL, 'api', { spec: policy });
      await away.ready('api');
    });
});

describe('a role that another object uses with spec.roleARN', () => {
  it('follows the spec of the object that manages it', async () => {
    const world = new SimulatedWorld();
    await world.startWithReadyObject('api', { ...SHARED, roleAdditionalPolicies: [READ_POLICY] });
    world.applyWith('web', { roleARN: world.role('', 'shared-pods')?.arn });
    await world.ready('web');
    world.patch(PLURAL, 'api', { spec: { roleAdditionalPolicies: [] } });
    await world.until('the policy is detached', () => policiesIn(world)?.includes(READ_POLICY) === false, HOUR);
    await world.ready('api');
    world.delete('web');
    await world.gone('web');
    await world.deleteAndFinish('api');
  });
});

describe('a role with only the profile of an object whose name is too long for a tag', () => {
  it('follows the spec of this object', async () => {
    const world = new SimulatedWorld();
    const name = 'w'.repeat(250);
    await world.startWithReadyObject(name, {
      ...SHARED,
      profileName: 'web',
      selectors: [{ namespace: 'web' }],
      roleAdditionalPolicies: [READ_POLICY],
    });
    world.patch(PLURAL, name, { spec: { roleAdditionalPolicies: [] } });
    await world.until('the policy is detached', () => policiesIn(world)?.includes(READ_POLICY) === false, HOUR);
    await world.deleteAndFinish(name);
  });
});

describe('a role of three objects', () => {
  it('conflicts only with the settings of an object that differs from the first one', async () => {
    const world = new SimulatedWorld();
    world.start();
    for (const [name, policies] of [
      ['first', [READ_POLICY]],
      ['second', []],
      ['third', [READ_POLICY]],
    ] as const) {
      world.applyWith(name, { ...SHARED, roleAdditionalPolicies: policies });
      await world.clock.advance(10 * MINUTE);
    }
    expect(world.condition('second', 'Stalled')?.reason).to.equal('RoleSettingsConflict');
    expect([world.isReady('first'), world.isReady('third')]).to.deep.equal([true, true]);
    await world.deleteAndFinish('first', 'second', 'third');
  });
});

describe('two objects that serve with a role, and want different settings', () => {
  it('report a conflict all the time, also between two surveys', async () => {
    const world = new ReplaceableWorld();
    const rolePermissionsBoundary = world.aws.admin.putPolicy({ account: ACCOUNT, name: 'bound' });
    world.start('--require-permissions-boundary=arn:aws:iam::*:policy/bound');
    world.applyWith('api', { ...SHARED, rolePermissionsBoundary });
    await world.ready('api');
    await world.clock.advance(10 * MINUTE);
    world.applyWith('web', SHARED);
    await world.ready('web');
    await world.stopAll();
    // The operator no longer requires the boundary, so the specs differ now.
    world.start();
    await stalled(world, 'web');
    for (let minute = 0; minute < 180; minute += 1) {
      await world.clock.advance(MINUTE);
      expect(world.condition('web', 'Stalled')?.reason).to.equal('RoleSettingsConflict');
    }
  });
});

describe('a role whose objects get another spec.rolePath before they have profiles', () => {
  const names = ['web', 'api'];

  for (const [cure, spec, roles] of [
    ['the former path', { rolePath: '/a/' }, ['shared-pods']],
    ['another role', { roleName: 'new-pods' }, ['new-pods']],
  ] as const)
    it(`stays until the objects get ${cure}, as their messages say, and is then used or deleted`, async () => {
      const world = new SimulatedWorld();
      world.start();
      for (const name of names) {
        world.applyWith(name, { ...SHARED, rolePath: '/a/', subnetIDs: ['subnet-00000000000000bad'] });
        await world.reason(name, 'Refused');
      }
      for (const name of names) world.patch(PLURAL, name, { spec: { subnetIDs: null, rolePath: '/b/' } });
      for (const [name, other] of [
        ['web', 'api'],
        ['api', 'web'],
      ] as const)
        expect(await world.reason(name, 'RoleSettingsConflict')).to.equal(
          'IAM role "shared-pods" has the path /a/, and the controller cannot recreate it with the path in ' +
            `spec.rolePath, because AWSFargateProfile default/${other} also uses it. Set spec.rolePath to /a/ if the API server accepts this, or give ` +
            'this object another role with spec.roleName. Until then the controller changes nothing in AWS for this object.',
        );
      await world.clock.advance(HOUR);
      for (const name of names) world.patch(PLURAL, name, { spec });
      await world.ready(...names);
      await world.clock.advance(HOUR);
      expect(world.aws.admin.roles().flatMap(({ name, foreign }) => (foreign ? [] : [name]))).to.deep.equal(roles);
      await world.deleteAndFinish(...names);
    });
});

describe('a role that an object keeps although a client removed spec.roleName', () => {
  async function withoutRoleName(web: object) {
    const world = new ReplaceableWorld();
    world.start();
    for (const [name, spec] of [
      ['web', web],
      ['api', {}],
    ] as const) {
      world.applyWith(name, { ...SHARED, ...spec });
      await world.ready(name);
    }
    world.change({ spec: { roleName: null } });
    await world.clock.advance(HOUR);
    expect(world.shown()).to.equal('True/Ready');
    return world;
  }

  it('keeps the settings of this object if another object with the role wants others', async () => {
    const world = await withoutRoleName({});
    world.patch(PLURAL, 'api', { spec: { roleAdditionalPolicies: [READ_POLICY] } });
    await stalled(world, 'api');
    const { length } = world.mutations();
    await world.clock.advance(6 * HOUR);
    expect(world.operations(length)).to.deep.equal([]);
    expect([policiesIn(world), world.shown()]).to.deep.equal([[EKS_POLICY], 'True/Ready']);
    await world.deleteAndFinish('web', 'api');
  });

  it('gets changed settings from this object, which is older', async () => {
    const world = await withoutRoleName(REPLACE);
    world.change({ spec: { roleAdditionalPolicies: [READ_POLICY] } });
    await stalled(world, 'api');
    expect(policiesIn(world)).to.have.members([EKS_POLICY, READ_POLICY]);
    await world.deleteAndFinish('web', 'api');
  });

  it('keeps the settings of this object while its former role waits for its deletion', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReadyObject('web', {
      updateStrategy: { type: 'Replace', replace: { keepPredecessorFor: '24h' } },
    });
    world.applyWith('api', SHARED);
    await world.ready('api');
    world.change({ spec: SHARED });
    await world.shows('True/PredecessorKept');
    world.change({ spec: { roleName: null } });
    await world.clock.advance(10 * MINUTE);
    world.patch(PLURAL, 'api', { spec: { roleAdditionalPolicies: [READ_POLICY] } });
    await stalled(world, 'api');
    const { length } = world.mutations();
    await world.clock.advance(6 * HOUR);
    expect(world.operations(length)).to.deep.equal([]);
    expect(policiesIn(world)).to.deep.equal([EKS_POLICY]);
    await world.deleteAndFinish('web', 'api');
  });

  it('does not hide that this object also uses the role of its replacement', async () => {
    const world = new ReplaceableWorld({ aws: { eks: { maxProfilesPerCluster: 1 } } });
    await world.startReplaceable({ roleName: 'special' });
    await world.clock.advance(10 * MINUTE);
    world.change({ spec: { roleName: null, ...OTHER, roleAdditionalPolicies: [READ_POLICY] } });
    await world.shows('False/QuotaExceeded');
    world.applyWith('api', { roleName: ROLE });
    await stalled(world, 'api');
    expect(world.condition('api', 'Stalled')?.reason).to.equal('RoleSettingsConflict');
    const { length } = world.mutations();
    await world.clock.advance(12 * HOUR);
    expect(world.operations(length).filter((operation) => operation.includes('Role'))).to.deep.equal([]);
    await world.deleteAndFinish('web', 'api');
  });

  it('lets another object use a role with the computed name of this object', async () => {
    const world = new ReplaceableWorld({ aws: { eks: { maxProfilesPerCluster: 1 } } });
    await world.startWithReadyObject('web', { roleName: 'special' });
    await world.clock.advance(10 * MINUTE);
    world.change({ spec: { roleName: null } });
    await world.clock.advance(10 * MINUTE);
    const special = world.role('', 'special');
    changeRoleByHand(world, 'special', { tags: {} });
    world.applyWith('api', { roleName: ROLE, roleAdditionalPolicies: [READ_POLICY] });
    await world.clock.advance(2 * HOUR);
    expect(world.condition('api')?.reason).to.equal('QuotaExceeded');
    world.aws.admin.setConfig({ eks: { maxProfilesPerCluster: 10 } });
    await world.ready('api');
    changeRoleByHand(world, 'special', { tags: special?.tags ?? {} });
    await world.deleteAndFinish('web', 'api');
  });
});

describe('a role whose path differs from the spec of an object, and that another object serves with', () => {
  it('is deleted after both objects have moved to other roles', async () => {
    const world = new ReplaceableWorld();
    await world.startWithReadyObject('api', { ...REPLACE, ...SHARED, rolePath: '/a/' });
    world.applyWith('web', { ...SHARED, rolePath: '/b/' });
    await world.reason('web', 'RoleSettingsConflict');
    world.change({ metadata: { annotations: { [PAUSED_ANNOTATION]: '' } } });
    world.patch(PLURAL, 'api', { spec: { roleName: 'api-own' } });
    await world.clock.advance(HOUR);
    world.change({ spec: { roleName: 'web-own' }, metadata: { annotations: { [PAUSED_ANNOTATION]: null } } });
    await world.ready('web');
    await world.until('the end of the shared role', () => world.role('', 'shared-pods') === undefined, HOUR);
    await world.deleteAndFinish('api', 'web');
  });
});
