import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CAPA_TRUST, EKS_POLICY } from '../world/aws/capa-resources.ts';
import { AT_ONCE, PROFILE, ROLE, ROLE_ARN, WEB, denyAction, startUntilReady } from './phases/phase.ts';
import { ACCOUNT, EKS_CLUSTER, HOUR, MINUTE, SECOND } from './world/cluster.ts';
import { ReplaceableWorld } from './world/replaceable-world.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const canPodsJoin = (world: SimulatedWorld): boolean =>
  world.aws.admin.canPodsJoin({ cluster: EKS_CLUSTER, name: PROFILE });
const entries = (world: SimulatedWorld) =>
  world.aws.admin.accessEntries().filter(({ principalArn }) => principalArn === ROLE_ARN);

async function applyAgain(world: SimulatedWorld): Promise<void> {
  world.apply(WEB);
  await world.ready(WEB);
}

async function remove(world: SimulatedWorld): Promise<void> {
  world.delete(WEB);
  await world.gone(WEB);
  // IAM reports a role's creation time in whole seconds. After this pause, a new role has a later creation time than
  // the access entry.
  await world.clock.advance(2 * SECOND);
}

function worldIn(authenticationMode: 'API' | 'API_AND_CONFIG_MAP' | 'CONFIG_MAP'): SimulatedWorld {
  const world = new SimulatedWorld();
  world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode });
  return world;
}

const BROUGHT = 'pods';
const roleARN = `arn:aws:iam::${ACCOUNT}:role/${BROUGHT}`;
const putBroughtRole = (world: SimulatedWorld): void =>
  void world.aws.admin.putRole({ name: BROUGHT, trustPolicy: CAPA_TRUST, attachedPolicies: [EKS_POLICY] });

describe('the EKS access entry of a role', () => {
  for (const mode of ['API', 'API_AND_CONFIG_MAP'] as const) {
    it(`goes with the role, and lets the pods of an object that is applied again join, in mode ${mode}`, async () => {
      const world = worldIn(mode);
      await startUntilReady(world);
      expect(canPodsJoin(world)).to.equal(true);
      await remove(world);
      expect(entries(world)).to.deep.equal([]);
      await applyAgain(world);
      expect(canPodsJoin(world)).to.equal(true);
      await world.deleteAndFinish(WEB);
    });

    it(`is created again if it belongs to a deleted role, in mode ${mode}`, async () => {
      const world = worldIn(mode);
      await startUntilReady(world);
      denyAction(world, 'eks:DeleteAccessEntry');
      await remove(world);
      expect(entries(world)).to.have.length(1);
      expect(world.eventReasons).to.include('FailedDeleteAccessEntry');
      world.aws.admin.allow();
      await applyAgain(world);
      expect(canPodsJoin(world)).to.equal(true);
      await world.clock.advance(AT_ONCE);
      expect(world.eventReasons).to.include('DeletedAccessEntry');
      await world.deleteAndFinish(WEB);
    });

    it(`is created if EKS does not recreate it, in mode ${mode}`, async () => {
      const world = worldIn(mode);
      world.aws.admin.setConfig({ eks: { accessEntryMadeAnew: false } });
      await startUntilReady(world);
      denyAction(world, 'eks:DescribeAccessEntry');
      await remove(world);
      world.aws.admin.allow();
      await applyAgain(world);
      expect(canPodsJoin(world)).to.equal(true);
      await world.clock.advance(AT_ONCE);
      expect(world.eventReasons).to.include('CreatedAccessEntry');
      await world.deleteAndFinish(WEB);
    });
  }

  for (const [mode, reads] of [
    ['API', 2],
    ['API_AND_CONFIG_MAP', 2],
    ['CONFIG_MAP', 0],
  ] as const)
    it(`takes ${reads} AWS calls of a creation in mode ${mode}`, async () => {
      const world = worldIn(mode);
      await startUntilReady(world);
      const operations = world.aws.admin.calls().map(({ operation }) => operation);
      expect(operations.filter((operation) => operation === 'DescribeAccessEntry')).to.have.length(reads);
      expect(operations.filter((operation) => operation === 'DescribeCluster')).to.have.length(1);
      await world.deleteAndFinish(WEB);
    });

  it('goes with the object if EKS has created it because the mode has changed from CONFIG_MAP', async () => {
    const world = worldIn('CONFIG_MAP');
    await startUntilReady(world);
    await world.clock.advance(20 * MINUTE);
    world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'API_AND_CONFIG_MAP' });
    expect(entries(world)).to.have.length(1);
    await remove(world);
    expect(entries(world)).to.deep.equal([]);
    await world.finish();
  });

  it('goes with the former role of an object whose spec names no role any more', async () => {
    const world = new ReplaceableWorld();
    await world.startReplaceable({ updateStrategy: { type: 'Replace', replace: { keepPredecessorFor: '1h' } } });
    expect(entries(world)).to.have.length(1);
    world.change({ spec: { roleName: 'other' } });
    await world.shows('True/PredecessorKept');
    world.change({ spec: { roleName: null } });
    await world.until('the end of the former role', () => world.role(WEB, ROLE) === undefined, 3 * HOUR);
    expect(entries(world)).to.deep.equal([]);
    await world.deleteAndFinish(WEB);
  });

  it('stays Stalled while AWS denies the change of an outdated one, and is changed when it is allowed', async () => {
    const world = worldIn('API');
    await startUntilReady(world);
    denyAction(world, 'eks:DeleteAccessEntry');
    denyAction(world, 'eks:DescribeAccessEntry');
    await remove(world);
    world.aws.admin.allow();
    denyAction(world, 'eks:DeleteAccessEntry');
    world.apply(WEB);
    expect(await world.reason(WEB, 'RoleRecreated')).to.include('DeleteAccessEntry');
    world.aws.admin.allow();
    world.triggerReconcile(WEB);
    await world.ready(WEB);
    expect(canPodsJoin(world)).to.equal(true);
    await world.deleteAndFinish(WEB);
  });

  for (const hasStatus of [true, false])
    it(`is created after a restore ${hasStatus ? 'with' : 'without'} status if AWS had denied its creation before`, async () => {
      const world = new ReplaceableWorld();
      await startUntilReady(world);
      const backup = world.backup();
      denyAction(world, 'eks:CreateAccessEntry');
      world.aws.admin.removeRole({ name: ROLE });
      world.triggerReconcile(WEB);
      await world.shows('True/RoleRecreated', 'Stalled');
      expect(entries(world)).to.deep.equal([]);
      await world.stopAll();
      world.aws.admin.allow();
      world.restore(backup, { status: hasStatus });
      world.start();
      await world.clock.advance(HOUR);
      expect([world.shown(), canPodsJoin(world)]).to.deep.equal(['True/Ready', true]);
      await world.deleteAndFinish(WEB);
    });

  it('is created after a restore if the manager has crashed right after it deleted the outdated one', async () => {
    const world = new ReplaceableWorld();
    await startUntilReady(world);
    const backup = world.backup();
    await world.clock.advance(HOUR);
    world.aws.admin.removeRole({ name: ROLE });
    let isKilled = false;
    world.onChange = (change) => {
      if (isKilled || !('operation' in change) || change.operation !== 'DeleteAccessEntry') return;
      isKilled = true;
      world.managers.at(-1)?.kill();
    };
    world.triggerReconcile(WEB);
    await world.until('the crash', () => isKilled, HOUR);
    world.restore(backup);
    world.start();
    await world.clock.advance(HOUR);
    expect([world.shown(), canPodsJoin(world)]).to.deep.equal(['True/Ready', true]);
    await world.deleteAndFinish(WEB);
  });

  describe('of a role in spec.roleARN that its owner has recreated', () => {
    const recreateRole = (world: SimulatedWorld): void => {
      world.aws.admin.removeRole({ name: BROUGHT });
      putBroughtRole(world);
    };
    const expectReported = async (world: SimulatedWorld): Promise<void> => {
      await world.reason(WEB, 'RoleRecreated');
      expect(canPodsJoin(world)).to.equal(false);
      const which = { cluster: EKS_CLUSTER, principalArn: roleARN };
      world.aws.admin.removeAccessEntry(which);
      world.aws.admin.putAccessEntry(which);
      await world.ready(WEB);
      expect(canPodsJoin(world)).to.equal(true);
      await world.deleteAndFinish(WEB);
    };

    it('is not reported as missing if the ConfigMap aws-auth admits the role', async () => {
      const world = new SimulatedWorld();
      world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'API_AND_CONFIG_MAP' });
      putBroughtRole(world);
      await startUntilReady(world, { roleARN });
      world.aws.admin.setCluster({ name: EKS_CLUSTER, awsAuthRoleArns: [roleARN] });
      world.aws.admin.removeAccessEntry({ cluster: EKS_CLUSTER, principalArn: roleARN });
      await world.clock.advance(20 * MINUTE);
      recreateRole(world);
      await world.clock.advance(HOUR);
      expect([canPodsJoin(world), world.isReady(WEB)]).to.deep.equal([true, true]);
      await world.deleteAndFinish(WEB);
    });

    it('is reported as outdated if the object has lost its record and status', async () => {
      const world = new ReplaceableWorld();
      putBroughtRole(world);
      await startUntilReady(world, { roleARN });
      await world.stopAll();
      recreateRole(world);
      world.change({ metadata: { annotations: null } });
      world.patch(PLURAL, WEB, { status: null }, 'status');
      world.start();
      await expectReported(world);
    });

    it('is reported as outdated if the object was deleted and applied again', async () => {
      const world = new SimulatedWorld();
      putBroughtRole(world);
      await startUntilReady(world, { roleARN });
      await remove(world);
      recreateRole(world);
      world.applyWith(WEB, { roleARN });
      await expectReported(world);
    });
  });

  it('does not matter to a manager without any permission for access entries, which tells', async () => {
    const world = worldIn('API');
    for (const verb of ['Describe', 'Create', 'Delete']) denyAction(world, `eks:${verb}AccessEntry`);
    await startUntilReady(world);
    expect(world.eventReasons).to.include('FailedDescribeAccessEntry');
    await remove(world);
    const [left] = entries(world);
    world.aws.admin.removeAccessEntry(left ?? expect.fail('the access entry that the manager may not delete is gone'));
    await world.finish();
  });
});
