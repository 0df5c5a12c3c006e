import { expect } from 'chai';
import { FINALIZER, PLURAL } from '../../../api/v1beta2/index.ts';
import { CONTROL_PLANE_FINALIZER } from '../../../controllers/shared/control-plane/control-plane-finalizer.ts';
import {
  PROFILE,
  ROLE,
  WEB,
  deleteHeld,
  denyAction,
  patchCluster,
  patchControlPlane,
  patchWeb,
  removeAtOnce,
  removeHeldFinalizers,
  startUntilReady,
} from '../phases/phase.ts';
import { CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, MINUTE, SECOND, createControlPlane } from '../world/cluster.ts';
import { it } from '../world/it.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';

const CONTROL_PLANES = 'awsmanagedcontrolplanes';

describe('the deletion of an object', () => {
  it('happens where the profile was provisioned, although the control plane names another EKS cluster', async (world) => {
    await startUntilReady(world);
    world.aws.admin.createCluster({ name: 'latter' });
    patchControlPlane(world, { spec: { eksClusterName: 'latter' } });
    expect(await world.reason(WEB, 'TargetChanged', 'Stalled'))
      .to.contain('spec.eksClusterName of the control plane is now "latter"')
      .and.to.contain(`the Fargate profile is recorded in "${EKS_CLUSTER}"`);
    world.delete(WEB);
    await world.gone(WEB);
    const calls = world.aws.admin.calls().filter(({ identifiers }) => Object.values(identifiers).includes('latter'));
    expect(calls).to.deep.equal([]);
  });

  it('needs neither status nor Cluster, because the record has the place', async (world) => {
    await startUntilReady(world);
    await world.stopAll();
    removeAtOnce(world, CONTROL_PLANES, CONTROL_PLANE_REF.name);
    removeAtOnce(world, 'clusters', CLUSTER);
    world.patch(PLURAL, WEB, { status: null }, 'status');
    world.delete(WEB);
    world.start();
    await world.gone(WEB);
  });

  it('waits without status, record and Cluster, as after the restore of a backup, until the Cluster is restored', async (world) => {
    await startUntilReady(world);
    await world.stopAll();
    const spec = world.object(CONTROL_PLANES, CONTROL_PLANE_REF.name)?.['spec'];
    removeAtOnce(world, CONTROL_PLANES, CONTROL_PLANE_REF.name);
    removeAtOnce(world, 'clusters', CLUSTER);
    world.patch(PLURAL, WEB, { status: null }, 'status');
    world.patch(PLURAL, WEB, { metadata: { annotations: null } });
    world.delete(WEB);
    const { length } = world.aws.admin.calls();
    world.start();
    expect(await world.reason(WEB, 'TargetUnknown', 'Deleting')).to.contain(
      'Restore Cluster default/prod and its AWSManagedControlPlane',
    );
    await world.clock.advance(30 * MINUTE);
    expect(world.aws.admin.calls()).to.have.length(length);
    world.create('clusters', { metadata: { name: CLUSTER }, spec: { controlPlaneRef: CONTROL_PLANE_REF } });
    world.create(CONTROL_PLANES, { metadata: { name: CONTROL_PLANE_REF.name }, spec });
    world.setControlPlaneReady(true);
    await world.gone(WEB);
  });

  it('needs no control planes if the API server does not serve them, and other profiles stay', async (world) => {
    await world.startWithReady('leaving', 'staying');
    await world.stopAll();
    const kind = world.api.kind(CONTROL_PLANES);
    world.api.unserve(CONTROL_PLANES);
    world.start('--sync-period', '1m');
    world.delete('leaving');
    await world.gone('leaving');
    world.apply('late');
    await world.reason('late', 'WaitingForAPI');
    await world.clock.advance(30 * MINUTE);
    expect(world.mutationsFor('staying').map(({ operation }) => operation)).not.to.include('DeleteFargateProfile');
    world.api.serve(kind);
    await world.ready('late', 'staying');
  });
});

describe('the teardown of a cluster', () => {
  const tearDown = (world: SimulatedWorld): void => deleteHeld(world, CONTROL_PLANES, CONTROL_PLANE_REF.name);
  const isFree = (world: SimulatedWorld): boolean => !world.controlPlaneFinalizers.includes(CONTROL_PLANE_FINALIZER);

  /** Begins a teardown that a retained profile blocks. */
  async function block(world: SimulatedWorld): Promise<void> {
    await startUntilReady(world, { deletionPolicy: 'Retain' });
    tearDown(world);
    await world.reason(WEB, 'RetainBlocksClusterDeletion', 'Stalled');
    expect(world.controlPlaneFinalizers).to.include(CONTROL_PLANE_FINALIZER);
  }

  it('goes on soon after a user has deleted the retained profile in AWS, and its role stays', async (world) => {
    await block(world);
    const { length } = world.mutations();
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE });
    await world.until('its end', () => world.profile(WEB) === undefined, 5 * MINUTE);
    expect(world.operations(length)).to.deep.equal([]);
    expect(world.role(WEB)).not.to.equal(undefined);
    world.aws.admin.removeRole({ name: ROLE });
  });

  it('goes on after a user has removed the finalizer of the retained object, and its profile stays', async (world) => {
    await block(world);
    const { length } = world.mutations();
    world.delete(WEB);
    await world.reason(WEB, 'RetainBlocksClusterDeletion', 'Deleting');
    patchWeb(world, { metadata: { finalizers: null } });
    await world.until('the removal of the control plane finalizer', () => isFree(world), MINUTE);
    expect(world.eksProfile(WEB)?.status).to.equal('ACTIVE');
    expect(world.operations(length)).to.deep.equal([]);
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE });
    world.aws.admin.removeRole({ name: ROLE });
  });

  it('is not blocked by a retained object without a profile in AWS, nor by one that Git applies again', async (world) => {
    // A manager leaves this state if it is killed right after it has set its finalizers.
    world.create(PLURAL, {
      metadata: { name: WEB, finalizers: [FINALIZER] },
      spec: { clusterName: CLUSTER, selectors: [{ namespace: WEB }], deletionPolicy: 'Retain' },
    });
    world.patch(CONTROL_PLANES, CONTROL_PLANE_REF.name, { metadata: { finalizers: [CONTROL_PLANE_FINALIZER] } });
    tearDown(world);
    world.start();
    await world.gone(WEB);
    world.apply(WEB);
    await world.reason(WEB, 'ClusterDeleting');
    expect(world.profile(WEB)?.metadata).not.to.have.any.keys('finalizers');
    await world.until('the removal of the control plane finalizer', () => isFree(world), MINUTE);
    expect(world.operations()).to.deep.equal([]);
  });

  it('keeps the control plane until the role is deleted, although the EKS cluster is gone', async (world) => {
    await startUntilReady(world);
    world.aws.admin.removeCluster({ name: EKS_CLUSTER });
    world.aws.admin.addFault({ operation: 'DetachRolePolicy', kind: 'slow-before:9000', times: 1 });
    tearDown(world);
    await world.until('the call', () => world.operations().includes('DetachRolePolicy'));
    await world.clock.advance(5 * SECOND);
    expect(isFree(world)).to.equal(false);
    await world.gone(WEB);
    expect(world.role(WEB)).to.equal(undefined);
  });

  it('whose Cluster is gone takes the finalizer off the control plane after the profile', async (world) => {
    await startUntilReady(world);
    removeAtOnce(world, 'clusters', CLUSTER);
    await world.clock.advance(10 * MINUTE);
    expect(world.eksProfile(WEB)?.status).to.equal('ACTIVE');
    expect(isFree(world)).to.equal(false);
    await world.deleteAndFinish(WEB);
    expect(isFree(world)).to.equal(true);
  });

  it('whose control plane two Clusters name deletes the profiles of both, and neither writes the finalizer meanwhile', async (world) => {
    const copy = 'prod-copy';
    await startUntilReady(world);
    const { length } = world.writes;
    world.create('clusters', { metadata: { name: copy }, spec: { controlPlaneRef: CONTROL_PLANE_REF } });
    await world.clock.advance(MINUTE);
    expect(world.writes.slice(length).filter(({ path }) => path.includes(CONTROL_PLANES))).to.deep.equal([]);
    world.applyWith('copied', { clusterName: copy });
    await world.ready('copied');
    world.patch('clusters', CLUSTER, { spec: { paused: true } });
    tearDown(world);
    await world.gone('copied');
    await world.clock.advance(10 * MINUTE);
    expect(isFree(world), 'while the other Cluster is paused').to.equal(false);
    expect(world.eksProfile(WEB)?.status).to.equal('ACTIVE');
    world.patch('clusters', CLUSTER, { spec: { paused: false } });
    await world.gone(WEB);
    await world.until('the removal of the control plane finalizer', () => isFree(world), MINUTE);
  });
});

describe('a former control plane that is deleted', () => {
  const OTHER = 'prod-2';

  it('stays while a profile is in its EKS cluster, and an event names the profile', async (world) => {
    await startUntilReady(world);
    const [eksCluster] = world.aws.admin.clusters();
    createControlPlane(world, OTHER, eksCluster ?? expect.fail('there is no EKS cluster'));
    patchCluster(world, { spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, name: OTHER } } });
    await world.clock.advance(MINUTE);
    world.remove(CONTROL_PLANES, CONTROL_PLANE_REF.name);
    await world.clock.advance(2 * MINUTE);
    const messages = world.eventMessages('WaitingForAWSFargateProfile');
    expect(messages).to.have.length(1);
    expect(messages[0]).to.contain(`AWSFargateProfile default/${WEB} still has the finalizer`);
    expect(world.controlPlaneFinalizers).to.have.length(1);
    world.delete(WEB);
    await world.gone(WEB);
    const isGone = (): boolean => world.object(CONTROL_PLANES, CONTROL_PLANE_REF.name) === undefined;
    await world.until('its end', isGone, MINUTE);
  });

  it('goes after the profiles in its EKS cluster, although the recreated Cluster has profiles in another one', async (world) => {
    await startUntilReady(world);
    const former = world.object(CONTROL_PLANES, CONTROL_PLANE_REF.name);
    denyAction(world, 'eks:DeleteFargateProfile');
    deleteHeld(world, 'clusters', CLUSTER);
    world.remove(CONTROL_PLANES, CONTROL_PLANE_REF.name);
    await world.reason(WEB, 'AccessDenied', 'Deleting');
    patchCluster(world, { metadata: { finalizers: null } });
    await world.clock.advance(MINUTE);
    createControlPlane(world, OTHER, world.aws.admin.createCluster({ name: 'default_new' }));
    const controlPlaneRef = { ...CONTROL_PLANE_REF, name: OTHER };
    world.create('clusters', { metadata: { name: CLUSTER }, spec: { controlPlaneRef } });
    world.apply('new');
    await world.ready('new');
    await world.clock.advance(10 * MINUTE);
    expect(world.object(CONTROL_PLANES, CONTROL_PLANE_REF.name)?.metadata.uid).to.equal(former?.metadata.uid);
    world.aws.admin.allow();
    await world.gone(WEB);
    const isGone = (): boolean => world.object(CONTROL_PLANES, CONTROL_PLANE_REF.name) === undefined;
    await world.until('its end', isGone, MINUTE);
    expect(world.eksProfile('new')?.status).to.equal('ACTIVE');
  });

  for (const former of ['a-former', 'z-former'])
    it(`does not take along a profile in the current EKS cluster if the Cluster is missing (${former})`, async (world) => {
      createControlPlane(world, former, world.aws.admin.createCluster({ name: 'default_former' }));
      await startUntilReady(world);
      removeAtOnce(world, 'clusters', CLUSTER);
      await world.clock.advance(MINUTE);
      deleteHeld(world, CONTROL_PLANES, former);
      await world.clock.advance(60 * MINUTE);
      expect(world.profile(WEB)?.metadata.deletionTimestamp).to.equal(undefined);
      expect(world.eksProfile(WEB)?.status).to.equal('ACTIVE');
      removeHeldFinalizers(world);
    });
});
