import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { GROUP, PLURAL, VERSION } from '../../api/v1beta2/index.ts';
import { CONTROL_PLANE_FINALIZER } from '../../controllers/shared/control-plane/control-plane-finalizer.ts';
import { STATIC_IDENTITY } from '../world/aws/identities.ts';
import { goodKeys, putStaticIdentity } from './phases/identity-objects.ts';
import { FORBIDDEN, acceptRequests, deleteHeld, refuseRequests, removeHeldFinalizers } from './phases/phase.ts';
import { ACCOUNT, CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, MINUTE, SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { applyTo, createTenantCluster, isTenantReady, tenantProfile } from './world/tenants.ts';

const FILTER = 'cluster.x-k8s.io/watch-filter';
const ROLE = 'shared-pods';

/**
 * Creates an AWSFargateProfile for one of the two managers. The part of `name` before the hyphen becomes the value of
 * the watch-filter label, by which each manager selects its objects.
 */
function create(world: SimulatedWorld, name: string, spec: object = {}): void {
  const labels = { [FILTER]: name.split('-')[0] };
  world.create(PLURAL, {
    metadata: { name, labels },
    spec: { clusterName: CLUSTER, selectors: [{ namespace: name }], ...spec },
  });
}

/**
 * Returns a simulation with two managers. One reconciles the objects whose watch-filter label has the value `blue`, the
 * other those with the value `green`.
 */
function newShards(): SimulatedWorld {
  const world = new SimulatedWorld({ aws: { latencyMs: 20, eks: { createMs: 2 * SECOND, deleteMs: 2 * SECOND } } });
  for (const filter of ['blue', 'green']) world.start('--leader-elect', '--watch-filter', filter);
  return world;
}

const roleOf = (world: SimulatedWorld) => world.role('', ROLE);

/**
 * Checks the shared IAM role after every change in the simulation. Adds a description to the returned set if a Fargate
 * profile uses the role, but the role is missing or has lost its policy.
 */
function recordBrokenRoles(world: SimulatedWorld): ReadonlySet<string> {
  const broken = new Set<string>();
  const { onChange } = world;
  world.onChange = (change) => {
    onChange(change);
    const isUsed = world.aws.admin.profiles().some(({ podExecutionRoleArn: arn }) => arn.endsWith(`/${ROLE}`));
    const policies = roleOf(world)?.attachedPolicies.length;
    if (isUsed && policies !== 1) broken.add(policies === undefined ? 'no role' : `a role with ${policies} policies`);
  };
  return broken;
}

describe('two managers with different watch filters', () => {
  describe('with one role', () => {
    it('keep the role while an object of either has it, and delete it with the last one', async () => {
      const world = newShards();
      create(world, 'blue-web', { roleName: ROLE });
      create(world, 'green-web', { roleName: ROLE });
      await world.ready('blue-web', 'green-web');
      world.delete('blue-web');
      await world.gone('blue-web');
      expect(roleOf(world)?.attachedPolicies).to.have.length(1);
      await world.deleteAndFinish('green-web');
    });

    // The first manager has found that no object uses the role, and has sent the first request of the role's deletion.
    // IAM executes this request slowly. Meanwhile the second manager finds the role complete and wants to use it for an
    // object.
    it('do not use a role that the other one is deleting', async () => {
      const world = newShards();
      create(world, 'blue-web', { roleName: ROLE });
      await world.ready('blue-web');
      const broken = recordBrokenRoles(world);
      world.aws.admin.addFault({ operation: 'DetachRolePolicy', kind: 'slow-before:9000', times: 1 });
      world.delete('blue-web');
      await world.until('the question to EKS, who uses the role', () =>
        world.aws.admin.calls({}).some(({ operation }) => operation === 'ListFargateProfiles'),
      );
      expect(roleOf(world)?.attachedPolicies).to.have.length(1);
      create(world, 'green-web', { roleName: ROLE });
      await world.until(
        'the wait',
        () => world.condition('green-web')?.reason === 'WaitingForRoleDeletion',
        5 * SECOND,
      );
      await world.ready('green-web');
      expect(world.profile('blue-web'), 'the object that deletes the role').to.equal(undefined);
      expect([...broken]).to.deep.equal([]);
      await world.deleteAndFinish('green-web');
    });

    it('remove the tags that no object of either wants any more, and keep the others', async () => {
      const world = newShards();
      create(world, 'blue-web', { roleName: ROLE, additionalTags: { both: 'x', blue: 'x' } });
      create(world, 'green-web', { roleName: ROLE, additionalTags: { both: 'x' } });
      await world.ready('blue-web', 'green-web');
      world.patch(PLURAL, 'blue-web', { spec: { additionalTags: null } });
      const tags = () => Object.keys(roleOf(world)?.tags ?? {}).filter((key) => key === 'both' || key === 'blue');
      await world.until('the end of the tag "blue"', () => !tags().includes('blue'), 30 * MINUTE);
      expect(tags()).to.deep.equal(['both']);
      world.patch(PLURAL, 'green-web', { spec: { additionalTags: null } });
      await world.until('the end of the tag "both"', () => tags().length === 0, 30 * MINUTE);
      await world.deleteAndFinish('blue-web', 'green-web');
    });

    it('detach a policy that no object of either wants any more', async () => {
      const world = newShards();
      const policy = { roleAdditionalPolicies: ['arn:aws:iam::aws:policy/ReadOnlyAccess'] };
      for (const name of ['blue-web', 'green-web']) create(world, name, { roleName: ROLE, ...policy });
      await world.ready('blue-web', 'green-web');
      expect(roleOf(world)?.attachedPolicies).to.have.length(2);
      for (const name of ['blue-web', 'green-web']) world.patch(PLURAL, name, { spec: { roleAdditionalPolicies: [] } });
      await world.until('the end of the policy', () => roleOf(world)?.attachedPolicies.length === 1, 30 * MINUTE);
      await world.ready('blue-web', 'green-web');
      await world.deleteAndFinish('blue-web', 'green-web');
    });

    it('do not undo the settings of the other one: the younger object gets RoleSettingsConflict', async () => {
      const world = newShards();
      create(world, 'blue-web', { roleName: ROLE, additionalTags: { team: 'a' } });
      await world.ready('blue-web');
      create(world, 'green-web', { roleName: ROLE, additionalTags: { team: 'b' } });
      await world.until('Stalled', () => world.condition('green-web', 'Stalled')?.status === 'True');
      expect(world.condition('green-web')?.reason).to.equal('RoleSettingsConflict');
      expect(world.condition('green-web')?.message).to.contain('AWSFargateProfile default/blue-web');
      expect(roleOf(world)?.tags['team']).to.equal('a');
      world.delete('blue-web');
      await world.gone('blue-web');
      await world.ready('green-web');
      expect(roleOf(world)?.tags['team']).to.equal('b');
      await world.deleteAndFinish('green-web');
    });

    it('do not use the role of a replacement that the other one has given up and is deleting', async () => {
      const world = newShards();
      const role = `${CLUSTER}-default_blue-web_fargate`;
      const policies = () => world.aws.admin.roles().find(({ name }) => name === role)?.attachedPolicies;
      create(world, 'blue-web', { roleName: 'special', updateStrategy: { type: 'Replace' } });
      await world.ready('blue-web');
      await world.clock.advance(10 * MINUTE);
      world.aws.admin.deny({ principal: `arn:aws:iam::${ACCOUNT}:user/manager-1`, action: 'eks:CreateFargateProfile' });
      world.patch(PLURAL, 'blue-web', { spec: { roleName: null, selectors: [{ namespace: 'other' }] } });
      await world.until('the role of the replacement', () => policies()?.length === 1, 5 * MINUTE);
      await world.clock.advance(MINUTE);
      const { length } = world.aws.admin.calls({ operation: 'ListFargateProfiles' });
      world.aws.admin.addFault({ operation: 'DetachRolePolicy', kind: 'slow-before:9000', times: 1 });
      world.patch(PLURAL, 'blue-web', { spec: { selectors: [{ namespace: 'blue-web' }] } });
      const isAsked = () => world.aws.admin.calls({ operation: 'ListFargateProfiles' }).length >= length + 2;
      await world.until('the question to EKS, who uses the role', isAsked);
      await world.clock.advance(500);
      create(world, 'green-web', { roleName: role });
      await world.ready('green-web');
      await world.clock.advance(MINUTE);
      expect(policies()).to.have.length(1);
      await world.deleteAndFinish('blue-web', 'green-web');
    });

    it('do not wait for an object that keeps another role than its computed one', async () => {
      const world = newShards();
      create(world, 'blue-web', { roleName: 'custom' });
      await world.ready('blue-web');
      world.patch(PLURAL, 'blue-web', { spec: { roleName: null } });
      await world.clock.advance(10 * MINUTE);
      create(world, 'green-web', { roleName: `${CLUSTER}-default_blue-web_fargate` });
      await world.ready('green-web');
      await world.deleteAndFinish('blue-web', 'green-web');
    });
  });

  describe('in one EKS cluster', () => {
    const NAMES = ['blue-a', 'green-a', 'blue-b', 'green-b'];

    it('wait for each other, and EKS accepts each change once', async () => {
      const world = newShards();
      for (const name of NAMES) create(world, name);
      await world.ready(...NAMES);
      world.delete(...NAMES);
      await world.gone(...NAMES);
      for (const operation of ['CreateFargateProfile', 'DeleteFargateProfile']) {
        const calls = world.mutations().filter((call) => call.operation === operation);
        const accepted = calls.filter(({ errorCode }) => errorCode === undefined);
        expect(accepted.map(({ identifiers }) => identifiers['fargateProfileName'])).to.have.members(
          NAMES.map((name) => `default_${name}`),
        );
        const refusals = calls.filter((call) => !accepted.includes(call)).map(({ errorCode }) => errorCode);
        expect(refusals.every((code) => code === 'ResourceInUseException')).to.equal(true);
      }
      expect(world.warnings()).to.deep.equal([]);
      await world.finish();
    });

    it('tear the cluster down together, and the control plane stays until the last profile is gone', async () => {
      const world = newShards();
      for (const name of NAMES) create(world, name);
      await world.ready(...NAMES);
      deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
      const isFree = (): boolean => !world.controlPlaneFinalizers.includes(CONTROL_PLANE_FINALIZER);
      await world.until('no control plane finalizer', isFree, 5 * MINUTE);
      expect(world.objects(PLURAL)).to.deep.equal([]);
      expect(world.aws.admin.profiles()).to.deep.equal([]);
      expect(world.warnings()).to.deep.equal([]);
      removeHeldFinalizers(world);
      await world.finish();
    });
  });
});

describe('two managers, one of which reconciles an object that joins a control plane through the AWS account', () => {
  const CONTROL_PLANES = 'awsmanagedcontrolplanes';
  const OTHER_ACCOUNT = '210987654321';
  const ALLOWED = [ACCOUNT, OTHER_ACCOUNT].map((account) => `--allow-eks-cluster=default=${account}/us-east-1/*`);
  const writesOfControlPlane = (world: SimulatedWorld): number =>
    world.writes.filter(({ path }) => path.includes(CONTROL_PLANES)).length;

  /** Starts a manager and creates its object, whose identity in `account` differs from that of the control plane. */
  async function startBlue(world: SimulatedWorld, account: string): Promise<void> {
    const identityRef = { kind: STATIC_IDENTITY, name: 'team-a' };
    putStaticIdentity(world, goodKeys(world, account));
    world.setControlPlaneReady(false);
    world.start(...ALLOWED, '--watch-filter=blue');
    create(world, 'blue', {
      clusterName: undefined,
      eksCluster: { name: EKS_CLUSTER, region: 'us-east-1', identityRef },
    });
    await world.ready('blue');
    world.setControlPlaneReady(true);
  }

  it('do not add and remove the finalizer of the control plane by turns', async () => {
    const world = new SimulatedWorld();
    await startBlue(world, ACCOUNT);
    await world.until('it joins', () => world.controlPlaneFinalizers.length > 0);
    const before = writesOfControlPlane(world);
    world.start(...ALLOWED, '--watch-filter=green');
    await world.clock.advance(10 * MINUTE);
    expect(writesOfControlPlane(world)).to.equal(before);
    world.remove(CONTROL_PLANES, CONTROL_PLANE_REF.name);
    await world.gone('blue');
    await world.until('the end of the control plane', () => world.controlPlaneFinalizers.length === 0);
    await world.finish();
  });

  it('remove the finalizer although the object has the same EKS cluster name in another account', async () => {
    const world = new SimulatedWorld();
    world.aws.admin.createCluster({ name: EKS_CLUSTER, account: OTHER_ACCOUNT });
    await startBlue(world, OTHER_ACCOUNT);
    await world.stopAll();
    world.start(...ALLOWED, '--watch-filter=green');
    create(world, 'green');
    await world.ready('green');
    expect(world.controlPlaneFinalizers).to.have.length(1);
    world.delete('green');
    await world.gone('green');
    await world.until('the end of the finalizer', () => world.controlPlaneFinalizers.length === 0, MINUTE);
    world.start(...ALLOWED, '--watch-filter=blue');
    await world.deleteAndFinish('blue');
  });
});

describe('a manager with --namespace that may not list the objects of other namespaces', () => {
  it('creates a profile, and keeps its role until it may list them', async () => {
    const world = new SimulatedWorld();
    refuseRequests(world, 'GET', new RegExp(`^/apis/${GROUP}/${VERSION}/${PLURAL}`), 403, FORBIDDEN);
    world.start('--namespace', 'default');
    world.applyWith('web', { roleName: ROLE });
    await world.ready('web');
    world.delete('web');
    await world.until('the refusal', () => world.condition('web', 'Deleting')?.reason === 'APIServerRefused');
    expect(world.aws.admin.profiles()).to.deep.equal([]);
    expect(roleOf(world)?.attachedPolicies).to.have.length(1);
    acceptRequests(world);
    await world.gone('web');
    await world.finish();
  });
});

describe('the scope of a manager', () => {
  const isUntouched = ({ metadata, status }: KubeObject): boolean =>
    metadata.finalizers === undefined &&
    metadata.ownerReferences === undefined &&
    Object.keys(status ?? {}).join() === 'observedGeneration';

  it('with --namespace is the objects of this namespace, and the control plane finalizers in it', async () => {
    const world = new SimulatedWorld();
    const teams = ['team-a', 'team-b'].map((namespace) => ({ namespace, name: 'prod', region: 'us-east-1' }));
    const key = (namespace: string) => ({ namespace, name: CONTROL_PLANE_REF.name });
    const kind = world.api.kind('awsmanagedcontrolplanes');
    for (const team of teams) {
      createTenantCluster(world, team);
      applyTo(world, team, 'web');
      world.api.storage.mergePatch(kind, key(team.namespace), { metadata: { finalizers: [CONTROL_PLANE_FINALIZER] } });
    }
    world.start('--namespace', 'team-a');
    await world.until('team-a/web Ready', () => isTenantReady(world, 'team-a', 'web'));
    expect(isUntouched(tenantProfile(world, 'team-b', 'web') ?? expect.fail('it is gone'))).to.equal(true);
    expect(world.aws.admin.profiles().map(({ name }) => name)).to.deep.equal(['team-a_web']);
    for (const { namespace } of teams) world.api.storage.delete(world.api.kind(PLURAL), { namespace, name: 'web' });
    const finalizersIn = (namespace: string) => world.api.storage.get(kind, key(namespace))?.metadata.finalizers ?? [];
    await world.until('the removal', () => finalizersIn('team-a').length === 0);
    await world.clock.advance(30 * MINUTE);
    expect(finalizersIn('team-b')).to.deep.equal([CONTROL_PLANE_FINALIZER]);
    world.api.storage.mergePatch(kind, key('team-b'), { metadata: { finalizers: null } });
    await world.finish();
  });

  it('with --watch-filter is the objects with this label, as long as they have it', async () => {
    const world = new SimulatedWorld();
    world.start('--watch-filter', 'blue');
    create(world, 'green-web');
    world.apply('plain');
    create(world, 'blue-web');
    await world.ready('blue-web');
    for (const name of ['green-web', 'plain'])
      expect(isUntouched(world.profile(name) ?? expect.fail('it is gone')), name).to.equal(true);
    world.patch(PLURAL, 'blue-web', { metadata: { labels: { [FILTER]: 'green' } } });
    world.delete('blue-web', 'green-web');
    const { length } = world.aws.admin.calls();
    await world.clock.advance(60 * MINUTE);
    expect(world.profile('blue-web')?.metadata.finalizers).to.have.length(1);
    expect(world.aws.admin.calls()).to.have.length(length);
    world.patch(PLURAL, 'plain', { metadata: { labels: { [FILTER]: 'blue' } } });
    await world.ready('plain');
    world.patch(PLURAL, 'blue-web', { metadata: { labels: { [FILTER]: 'blue' } } });
    await world.gone('blue-web');
    await world.deleteAndFinish('plain');
  });
});
