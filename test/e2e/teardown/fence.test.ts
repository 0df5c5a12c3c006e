import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { Gate } from '../../support/gate.ts';
import type { HttpProxy } from '../../support/proxies/http-proxy.ts';
import { callsFromNow, holdCall } from '../../world/aws/calls.ts';
import { CAPA_FINALIZER } from '../../world/cluster-api/capa-simulator.ts';
import type { ClusterApi } from '../../world/cluster-api/cluster-api.ts';
import { QUICK_EKS, startClusterApi } from '../../world/cluster-api/cluster-api.ts';
import {
  CONTROL_PLANE_FINALIZER,
  expectAllGone,
  expectNothingInAws,
  finalizersOf,
  waitUntilDeleting,
  addFinalizer,
  removeFinalizers,
} from '../../world/cluster-api/cluster-teardown.ts';
import type { ProfileHistory } from '../../world/history.ts';
import { historyOf } from '../../world/history.ts';
import type { ManagedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { createManagedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { pathOf } from '../../world/manifests.ts';
import { startApiHttpProxy } from '../../world/manager/api-proxy.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { fargateProfile, startWorld } from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

/** A finalizer with which a test keeps an object in the API server after its deletion. */
const TEST_FINALIZER = 'test.example/kept';

/**
 * A user creates an AWSFargateProfile and deletes its Cluster at the same time. Each test holds a request of the
 * controller to the API server or to AWS until the deletion of the Cluster has reached a certain state.
 */
describe('a create that coincides with a cluster teardown', () => {
  let world: World;
  let clusterApi: ClusterApi;
  let history: ProfileHistory;
  let proxy: HttpProxy;

  before(async function () {
    this.timeout(0); // No time limit: the first test run on a machine downloads Go modules and builds programs.
    world = await startWorld({ config: QUICK_EKS });
    clusterApi = await startClusterApi(world, this);
    history = historyOf(world);
    world.addCleanup(() => history.stop());
    const way = await startApiHttpProxy(world.controlPlane);
    proxy = way.proxy;
    world.addCleanup(() => proxy.close());
    await world.startManager({ kubeconfigPath: way.kubeconfigPath });
  });
  after(() => world.finish());

  function holdRequest(method: string, path: string): Gate {
    const gate = new Gate(`${method} ${path}`);
    proxy.holdRequests(gate, (request) => request.method === method && request.path === path);
    return gate;
  }

  async function expectNoCreate(
    cluster: ManagedCluster,
    profile: string,
    ended: () => Promise<unknown>,
  ): Promise<void> {
    const finalizerPatch = holdRequest('PATCH', cluster.controlPlanePath);
    // The test holds the request with which the controller deletes the AWSFargateProfile. Otherwise the deletion would
    // change the object, and this change alone would stop the reconcile that is about to create the Fargate profile.
    const deletion = holdRequest('DELETE', pathOf(profile, cluster.namespace));
    const calls = callsFromNow(world.aws);
    try {
      await world.apply(fargateProfile(profile, { clusterName: cluster.name }));
      await finalizerPatch.waitForArrival();
      await clusterApi.delete(cluster.clusterPath);
      await ended();
      finalizerPatch.open();
      const late = await history.waitForCondition(profile, 'Ready', { status: 'False', reason: 'ClusterDeleting' });
      expect(messageOf(late, 'Ready')).to.match(
        / is being deleted, so the controller creates no Fargate profile for it$/,
      );
      await deletion.waitForArrival();
    } finally {
      finalizerPatch.open();
      deletion.open();
    }
    await world.gone(profile);
    expect(calls.mutations()).to.deep.equal([]);
  }

  describe('before the control plane finalizer is set', () => {
    it('is not made for a control plane that is being deleted', async () => {
      const cluster = await createManagedCluster(world, 'leaving');
      // The simulator of Cluster API Provider AWS adds its own finalizer with a patch of the whole list of finalizers.
      // If the test had added its finalizer before, this patch could remove it.
      await eventually(async () => (await finalizersOf(world, cluster.controlPlanePath)).includes(CAPA_FINALIZER), {
        what: 'the finalizer of Cluster API Provider AWS',
      });
      await addFinalizer(world, cluster.controlPlanePath, TEST_FINALIZER);
      // The test holds the DeleteCluster call, so that EKS itself would still accept the creation of the Fargate
      // profile. Only the controller's check of the control plane can then prevent the creation.
      const clusterDeletion = holdCall(world.aws, 'before', 'DeleteCluster', { name: cluster.eksName });
      await expectNoCreate(cluster, 'too-late', () => waitUntilDeleting(world, cluster.controlPlanePath)).finally(() =>
        clusterDeletion.open(),
      );
      expect(await finalizersOf(world, cluster.controlPlanePath))
        .to.include(TEST_FINALIZER)
        .and.not.to.include(CONTROL_PLANE_FINALIZER);
      await removeFinalizers(world, cluster.controlPlanePath, TEST_FINALIZER);
      await clusterApi.clusterGone(cluster);
    });

    it('is not made for a missing control plane', async () => {
      const cluster = await createManagedCluster(world, 'left');
      // The finalizer of the test keeps the Cluster. Without the Cluster, the garbage collector would delete the
      // AWSFargateProfile.
      await addFinalizer(world, cluster.clusterPath, TEST_FINALIZER);
      await expectNoCreate(cluster, 'much-too-late', () => clusterApi.gone(cluster.controlPlanePath));
      await removeFinalizers(world, cluster.clusterPath, TEST_FINALIZER);
      await clusterApi.clusterGone(cluster);
    });
  });

  describe('while EKS receives the create', () => {
    // Each test runs twice: with the finalizer that the manager sets on the control plane, and without it. In both
    // cases, nothing is left in AWS.
    for (const finalizer of ['kept', 'stripped'] as const) {
      it(`carried out by EKS but unanswered, is undone before the cluster is deleted (finalizer ${finalizer})`, async () => {
        const cluster = await createManagedCluster(world, `answered-late-${finalizer}`);
        const profile = `unanswered-${finalizer}`;
        const answer = holdCall(world.aws, 'after', 'CreateFargateProfile', { clusterName: cluster.eksName });
        const calls = callsFromNow(world.aws, cluster.eksName);
        await world.apply(fargateProfile(profile, { clusterName: cluster.name }));
        await answer.waitForArrival();
        await clusterApi.delete(cluster.clusterPath);
        await waitUntilDeleting(world, pathOf(profile, cluster.namespace));
        expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(CONTROL_PLANE_FINALIZER);
        if (finalizer === 'stripped') await removeFinalizers(world, cluster.controlPlanePath, CONTROL_PLANE_FINALIZER);
        answer.open();
        await expectAllGone(world, clusterApi, cluster, [profile]);
        expect(operationsOf(calls)).to.deep.equal(['CreateFargateProfile', 'DeleteFargateProfile']);
      });

      it(`that has not reached EKS yet, leaves nothing behind (finalizer ${finalizer})`, async () => {
        const cluster = await createManagedCluster(world, `asked-late-${finalizer}`);
        const profile = `unseen-${finalizer}`;
        const request = holdCall(world.aws, 'before', 'CreateFargateProfile', { clusterName: cluster.eksName });
        await world.apply(fargateProfile(profile, { clusterName: cluster.name }));
        await request.waitForArrival();
        await clusterApi.delete(cluster.clusterPath);
        await waitUntilDeleting(world, pathOf(profile, cluster.namespace));
        expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(CONTROL_PLANE_FINALIZER);
        if (finalizer === 'stripped') await removeFinalizers(world, cluster.controlPlanePath, CONTROL_PLANE_FINALIZER);
        request.open();
        await world.gone(profile);
        await clusterApi.clusterGone(cluster);
        expectNothingInAws(world, cluster);
      });
    }
  });
});
