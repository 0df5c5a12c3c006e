import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import type { Calls } from '../../world/aws/calls.ts';
import { callsFromNow, holdCall } from '../../world/aws/calls.ts';
import { CAPA_FINALIZER } from '../../world/cluster-api/capa-simulator.ts';
import type { ClusterApi } from '../../world/cluster-api/cluster-api.ts';
import { QUICK_EKS, startClusterApi } from '../../world/cluster-api/cluster-api.ts';
import {
  CONTROL_PLANE_FINALIZER,
  createClusterWithProfiles,
  expectAllGone,
  expectNothingInAws,
  finalizersOf,
  waitUntilDeleting,
  removeFinalizers,
} from '../../world/cluster-api/cluster-teardown.ts';
import type { ManagedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { fargateProfile, startWorld } from '../../world/world.ts';

const CLUSTER_FINALIZER = 'cluster.cluster.x-k8s.io';
const HELD = 'test.example/held';
/** A short sync period, so that a new manager soon reconciles AWSFargateProfiles that are already Ready. */
const SOON_AFTER_START = { flags: ['--sync-period', '1s'] };

describe('a cluster teardown with missing objects', () => {
  let world: World;
  let clusterApi: ClusterApi;

  before(async function () {
    this.timeout(0); // No time limit: the first test run on a machine downloads Go modules and builds programs.
    world = await startWorld({ config: QUICK_EKS });
    clusterApi = await startClusterApi(world, this);
    await world.startManager();
  });
  after(() => world.finish());

  /** Deletes an object, removes its finalizers, and waits until the object is gone. */
  async function deleteAndFinalize(path: string): Promise<void> {
    await clusterApi.delete(path);
    await waitUntilDeleting(world, path);
    await world.controlPlane.api.patch(path, { metadata: { finalizers: null } });
    await clusterApi.gone(path);
  }

  it('of the control plane alone deletes its profiles and keeps the Cluster', async () => {
    const cluster = await createClusterWithProfiles(world, 'alone', ['alone-1', 'alone-2']);
    await clusterApi.delete(cluster.controlPlanePath);
    await clusterApi.gone(cluster.controlPlanePath);
    await Promise.all([world.gone('alone-1'), world.gone('alone-2')]);
    expectNothingInAws(world, cluster);
    expect((await world.controlPlane.api.get(cluster.clusterPath)).metadata.deletionTimestamp).to.equal(undefined);
    await clusterApi.delete(cluster.clusterPath);
    await clusterApi.clusterGone(cluster);
  });

  it('without a control plane begins with the deletion of the Cluster', async () => {
    const cluster = await createClusterWithProfiles(world, 'headless', ['headless']);
    await world.controlPlane.api.patch(cluster.clusterPath, { metadata: { finalizers: [CLUSTER_FINALIZER, HELD] } });
    const calls = callsFromNow(world.aws);
    // The manager is stopped, so that it does not see the deletion of the control plane.
    await world.stopManager();
    await deleteAndFinalize(cluster.controlPlanePath);
    await world.startManager(SOON_AFTER_START);
    const waiting = await world.condition('headless', 'Ready', {
      status: 'False',
      reason: 'WaitingForEKSControlPlane',
    });
    expect(messageOf(waiting, 'Ready')).to.equal(
      'AWSManagedControlPlane default/headless-control-plane does not exist yet. If this name is wrong, correct spec.controlPlaneRef of Cluster default/headless. The controller waits and then continues on its own.',
    );
    expect(calls.all()).to.deep.equal([]);

    await clusterApi.delete(cluster.clusterPath);
    await world.gone('headless');
    expectNothingInAws(world, cluster);
    await removeFinalizers(world, cluster.clusterPath, HELD);
    await clusterApi.gone(cluster.clusterPath);
    world.aws.admin.removeCluster({ name: cluster.eksName });
  });

  describe('within 30 s after the Cluster vanished, in case it is being moved', () => {
    const alongside = sideBySide();
    let beheaded: ManagedCluster;
    let argo: ManagedCluster;
    let callsForArgo: Calls;

    before(async () => {
      [beheaded, argo] = await Promise.all([
        createClusterWithProfiles(world, 'beheaded', ['beheaded']),
        createClusterWithProfiles(world, 'argo', []),
      ]);
      const metadata = { annotations: { 'argocd.argoproj.io/tracking-id': 'app' } };
      await world.apply(fargateProfile('tracked', { clusterName: 'argo' }, metadata));
      const ready = await world.ready('tracked');
      expect(ready.metadata.ownerReferences).to.equal(undefined);
      await world.stopManager();
      for (const { controlPlanePath, clusterPath } of [beheaded, argo]) {
        await deleteAndFinalize(controlPlanePath);
        await clusterApi.delete(clusterPath);
        await clusterApi.gone(clusterPath);
      }
      callsForArgo = callsFromNow(world.aws, 'argo');
      await world.startManager(SOON_AFTER_START);
    });

    alongside(
      'without control plane and Cluster deletes the profile, which the garbage collector marks, after 30 s',
      async () => {
        const waiting = await world.condition('beheaded', 'Deleting', { status: 'True', reason: 'ClusterVanished' });
        expect(messageOf(waiting, 'Deleting')).to.equal(
          'Cluster default/beheaded does not exist any more. Maybe clusterctl is moving it to another management cluster, so the controller changes nothing in AWS for 30 seconds. No action is needed: after that the controller continues with the deletion of this object on its own.',
        );
        expect(world.awsView.profile('default_beheaded')?.status).to.equal('ACTIVE');
        await world.gone('beheaded');
        expectNothingInAws(world, beheaded);
        world.aws.admin.removeCluster({ name: beheaded.eksName });
      },
    );

    alongside('without a Cluster removes our finalizer from the control plane', async () => {
      const cluster = await createClusterWithProfiles(world, 'orphaned', ['orphaned']);
      expect(await finalizersOf(world, cluster.controlPlanePath)).to.have.members([
        CAPA_FINALIZER,
        CONTROL_PLANE_FINALIZER,
      ]);
      await clusterApi.delete(cluster.clusterPath);
      await world.controlPlane.api.patch(cluster.clusterPath, { metadata: { finalizers: null } });
      await clusterApi.gone(cluster.clusterPath);
      await world.gone('orphaned');
      expectNothingInAws(world, cluster);
      await eventually(async () => {
        expect(await finalizersOf(world, cluster.controlPlanePath)).to.deep.equal([CAPA_FINALIZER]);
      });
      // Cluster API Provider AWS does not delete the EKS cluster of a control plane whose Cluster no longer exists. The
      // user must delete the EKS cluster, as the test does.
      await removeFinalizers(world, cluster.controlPlanePath, CAPA_FINALIZER);
      await clusterApi.gone(cluster.controlPlanePath);
      world.aws.admin.removeCluster({ name: cluster.eksName });
    });

    alongside('without a Cluster keeps a profile without owner reference until its deletion', async () => {
      await world.condition('tracked', 'Ready', { status: 'False', reason: 'WaitingForCluster' });
      await world.delete('tracked');
      await world.condition('tracked', 'Deleting', { status: 'True', reason: 'ClusterVanished' });
      expect(callsForArgo.all()).to.deep.equal([]);
      await world.gone('tracked');
      expectNothingInAws(world, argo);
      world.aws.admin.removeCluster({ name: argo.eksName });
    });
  });

  it('without the EKS cluster keeps the control plane until the role is deleted', async () => {
    const cluster = await createClusterWithProfiles(world, 'slow-role', ['slow-role']);
    const detachment = holdCall(world.aws, 'before', 'DetachRolePolicy', {});
    await clusterApi.delete(cluster.clusterPath);
    await eventually(async () => {
      expect(await finalizersOf(world, cluster.controlPlanePath)).to.deep.equal([CONTROL_PLANE_FINALIZER]);
    });
    expect(world.aws.admin.clusters().some(({ name }) => name === cluster.eksName)).to.equal(false);
    expect(world.aws.admin.roles().some(({ name }) => name.includes('slow-role'))).to.equal(true);
    detachment.open();
    await expectAllGone(world, clusterApi, cluster, ['slow-role']);
  });
});
