import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { sideBySide } from '../support/side-by-side.ts';
import type { Calls } from '../world/calls.ts';
import { callsFromNow } from '../world/calls.ts';
import { CAPA_FINALIZER } from '../world/capa.ts';
import type { ClusterApi } from '../world/cluster-api.ts';
import { QUICK_EKS, startClusterApi } from '../world/cluster-api.ts';
import {
  GUARD,
  clusterWithProfiles,
  expectAllGone,
  expectNothingInAws,
  finalizersOf,
  isBeingDeleted,
  strip,
} from '../world/cluster-teardown.ts';
import type { ManagedCluster } from '../world/managed-cluster.ts';
import { messageOf } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { fargateProfile, startWorld } from '../world/world.ts';

const CLUSTER_FINALIZER = 'cluster.cluster.x-k8s.io';
const HELD = 'test.example/held';
/** For so long a Cluster that vanished may be on its way to another management cluster. */
const VANISHED_MS = 30_000;
/** An object that was Ready is looked at again when its time comes: here soon after a start. */
const SOON_AFTER_START = { flags: ['--sync-period', '1s'] };

describe('the teardown of a cluster of which something is missing', function () {
  let world: World;
  let clusterApi: ClusterApi;

  before(async function () {
    this.timeout(0); // the first time binaries are built from Go modules
    world = await startWorld({ config: QUICK_EKS });
    clusterApi = await startClusterApi(world, this);
    await world.startManager();
  });
  after(() => world.finish());

  /** Deletes an object and takes off whatever holds it. */
  async function loseObject(path: string): Promise<void> {
    await clusterApi.delete(path);
    await isBeingDeleted(world, path);
    await world.controlPlane.api.patch(path, { metadata: { finalizers: null } });
    await clusterApi.gone(path);
  }

  it('control plane deleted on its own: its profiles go with it, and the Cluster stays', async () => {
    const cluster = await clusterWithProfiles(world, 'alone', ['alone-1', 'alone-2']);
    await clusterApi.delete(cluster.controlPlanePath);
    await clusterApi.gone(cluster.controlPlanePath);
    await Promise.all([world.gone('alone-1'), world.gone('alone-2')]);
    expectNothingInAws(world, cluster);
    expect((await world.controlPlane.api.get(cluster.clusterPath)).metadata.deletionTimestamp).to.equal(undefined);
    await clusterApi.delete(cluster.clusterPath);
    await clusterApi.clusterGone(cluster);
  });

  it('control plane gone already: profiles stay as they are until the Cluster is deleted, which is the sign then', async () => {
    const cluster = await clusterWithProfiles(world, 'headless', ['headless']);
    await world.controlPlane.api.patch(cluster.clusterPath, { metadata: { finalizers: [CLUSTER_FINALIZER, HELD] } });
    const calls = callsFromNow(world.aws);
    // Nobody is there to see it go.
    await world.stopManager();
    await loseObject(cluster.controlPlanePath);
    await world.startManager(SOON_AFTER_START);
    const waiting = await world.condition('headless', 'Ready', {
      status: 'False',
      reason: 'WaitingForEKSControlPlane',
    });
    expect(messageOf(waiting, 'Ready')).to.equal(
      'AWSManagedControlPlane default/headless-control-plane does not exist yet',
    );
    expect(calls.all()).to.deep.equal([]);

    await clusterApi.delete(cluster.clusterPath);
    await world.gone('headless', { timeoutMs: VANISHED_MS - 5_000 });
    expectNothingInAws(world, cluster);
    await strip(world, cluster.clusterPath, HELD);
    await clusterApi.gone(cluster.clusterPath);
    world.aws.admin.removeCluster({ name: cluster.eksName });
  });

  describe('in the half minute in which a vanished Cluster may be on its way to another management cluster', () => {
    const alongside = sideBySide();
    let beheaded: ManagedCluster;
    let argo: ManagedCluster;
    let callsForArgo: Calls;

    before(async function () {
      this.timeout(120_000);
      [beheaded, argo] = await Promise.all([
        clusterWithProfiles(world, 'beheaded', ['beheaded']),
        clusterWithProfiles(world, 'argo', []),
      ]);
      const metadata = { annotations: { 'argocd.argoproj.io/tracking-id': 'app' } };
      await world.apply(fargateProfile('tracked', { clusterName: 'argo' }, metadata));
      const ready = await world.ready('tracked');
      expect(ready.metadata.ownerReferences).to.equal(undefined);
      await world.stopManager();
      for (const { controlPlanePath, clusterPath } of [beheaded, argo]) {
        await loseObject(controlPlanePath);
        await clusterApi.delete(clusterPath);
        await clusterApi.gone(clusterPath);
      }
      callsForArgo = callsFromNow(world.aws, 'argo');
      await world.startManager(SOON_AFTER_START);
    });

    alongside(
      'control plane and Cluster gone already: the garbage collector deletes the profile, and half a minute later it goes',
      async () => {
        const waiting = await world.condition('beheaded', 'Deleting', { status: 'True', reason: 'ClusterVanished' });
        expect(messageOf(waiting, 'Deleting')).to.equal(
          'Cluster default/beheaded has vanished; in case it is being moved, nothing is changed in AWS for half a minute',
        );
        expect(world.inAws.profile('default_beheaded')?.status).to.equal('ACTIVE');
        await world.gone('beheaded', { timeoutMs: VANISHED_MS + 5_000 });
        expectNothingInAws(world, beheaded);
        world.aws.admin.removeCluster({ name: beheaded.eksName });
      },
    );

    alongside(
      'Cluster gone already: the control plane loses our guard, whatever its own controller makes of it',
      async () => {
        const cluster = await clusterWithProfiles(world, 'orphaned', ['orphaned']);
        expect(await finalizersOf(world, cluster.controlPlanePath)).to.have.members([CAPA_FINALIZER, GUARD]);
        await clusterApi.delete(cluster.clusterPath);
        await world.controlPlane.api.patch(cluster.clusterPath, { metadata: { finalizers: null } });
        await clusterApi.gone(cluster.clusterPath);
        await world.gone('orphaned', { timeoutMs: VANISHED_MS + 5_000 });
        expectNothingInAws(world, cluster);
        await eventually(async () => {
          expect(await finalizersOf(world, cluster.controlPlanePath)).to.deep.equal([CAPA_FINALIZER]);
        });
        // Without its Cluster, Cluster API Provider AWS deletes no EKS cluster: that is left to a human.
        await strip(world, cluster.controlPlanePath, CAPA_FINALIZER);
        await clusterApi.gone(cluster.controlPlanePath);
        world.aws.admin.removeCluster({ name: cluster.eksName });
      },
    );

    alongside('a profile that nothing owns outlives its Cluster untouched, and goes when it is deleted', async () => {
      await world.condition('tracked', 'Ready', { status: 'False', reason: 'WaitingForCluster' });
      await world.delete('tracked');
      await world.condition('tracked', 'Deleting', { status: 'True', reason: 'ClusterVanished' });
      expect(callsForArgo.all()).to.deep.equal([]);
      await world.gone('tracked', { timeoutMs: VANISHED_MS + 5_000 });
      expectNothingInAws(world, argo);
      world.aws.admin.removeCluster({ name: argo.eksName });
    });
  });

  it('EKS cluster deleted while a role is still there: the guard keeps the control plane until that is gone too', async () => {
    const cluster = await clusterWithProfiles(world, 'slow-role', ['slow-role']);
    world.aws.admin.addFault({ operation: 'DetachRolePolicy', kind: 'slow-before:4000', times: 1 });
    await clusterApi.delete(cluster.clusterPath);
    await eventually(async () => {
      expect(await finalizersOf(world, cluster.controlPlanePath)).to.deep.equal([GUARD]);
    });
    expect(world.aws.admin.clusters().some(({ name }) => name === cluster.eksName)).to.equal(false);
    expect(world.aws.admin.roles().some(({ name }) => name.includes('slow-role'))).to.equal(true);
    await expectAllGone(world, clusterApi, cluster, ['slow-role']);
  });
});
