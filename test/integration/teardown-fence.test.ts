import { expect } from 'chai';
import { Gate } from '../support/gate.ts';
import type { HttpProxy } from '../support/http-proxy.ts';
import { callsFromNow, holdCall } from '../world/calls.ts';
import type { ClusterApi } from '../world/cluster-api.ts';
import { QUICK_EKS, startClusterApi } from '../world/cluster-api.ts';
import {
  GUARD,
  expectAllGone,
  expectNothingInAws,
  finalizersOf,
  isBeingDeleted,
  keep,
  strip,
} from '../world/cluster-teardown.ts';
import type { History } from '../world/history.ts';
import { historyOf } from '../world/history.ts';
import type { ManagedCluster } from '../world/managed-cluster.ts';
import { createManagedCluster } from '../world/managed-cluster.ts';
import { pathOf } from '../world/objects.ts';
import { throughHttpProxy } from '../world/proxied.ts';
import { messageOf } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { fargateProfile, startWorld } from '../world/world.ts';

/** With it a test keeps an object from vanishing. */
const TESTS = 'test.example/kept';

/** Which of the two comes first is decided by the tests: they hold the one until the other has happened. */
describe('the last create of a cluster and its teardown, when they meet', function () {
  let world: World;
  let clusterApi: ClusterApi;
  let history: History;
  let proxy: HttpProxy;

  before(async function () {
    this.timeout(0); // the first time binaries are built from Go modules
    world = await startWorld({ config: QUICK_EKS });
    clusterApi = await startClusterApi(world, this);
    history = historyOf(world);
    world.endWith(() => history.stop());
    const way = await throughHttpProxy(world.controlPlane);
    proxy = way.proxy;
    world.endWith(() => proxy.close());
    await world.startManager({ kubeconfigPath: way.kubeconfigPath });
  });
  after(() => world.finish());

  function requestHeld(method: string, path: string): Gate {
    const gate = new Gate(`${method} ${path}`);
    proxy.hold(gate, (request) => request.method === method && request.path === path);
    return gate;
  }

  async function expectNoCreate(
    cluster: ManagedCluster,
    profile: string,
    ended: () => Promise<unknown>,
  ): Promise<void> {
    const guard = requestHeld('PATCH', cluster.controlPlanePath);
    // It would change the profile, and so have the pass that wants to create it give way by itself.
    const deletion = requestHeld('DELETE', pathOf(profile, cluster.namespace));
    const calls = callsFromNow(world.aws);
    try {
      await world.apply(fargateProfile(profile, { clusterName: cluster.name }));
      await guard.arrived();
      await clusterApi.delete(cluster.clusterPath);
      await ended();
      guard.open();
      const late = await history.had(profile, 'Ready', { status: 'False', reason: 'ClusterDeleting' });
      expect(messageOf(late, 'Ready')).to.match(/ is being deleted: no Fargate profile is created for it any more$/);
      await deletion.arrived();
    } finally {
      guard.open();
      deletion.open();
    }
    await world.gone(profile);
    expect(calls.mutations()).to.deep.equal([]);
  }

  describe('the teardown begins before the guard is on the control plane', () => {
    it('nothing is created for a control plane that is being deleted', async () => {
      const cluster = await createManagedCluster(world, 'leaving');
      await keep(world, cluster.controlPlanePath, TESTS);
      // As long as there is the EKS cluster, nothing else forbids a create.
      const end = holdCall(world.aws, 'before', 'DeleteCluster', { name: cluster.eksName });
      await expectNoCreate(cluster, 'too-late', () => isBeingDeleted(world, cluster.controlPlanePath)).finally(() =>
        end.open(),
      );
      expect(await finalizersOf(world, cluster.controlPlanePath))
        .to.include(TESTS)
        .and.not.to.include(GUARD);
      await strip(world, cluster.controlPlanePath, TESTS);
      await clusterApi.clusterGone(cluster);
    });

    it('nothing is created for a control plane that is gone', async () => {
      const cluster = await createManagedCluster(world, 'left');
      // Without it the garbage collector deletes the profile.
      await keep(world, cluster.clusterPath, TESTS);
      await expectNoCreate(cluster, 'much-too-late', () => clusterApi.gone(cluster.controlPlanePath));
      await strip(world, cluster.clusterPath, TESTS);
      await clusterApi.clusterGone(cluster);
    });
  });

  describe('the teardown begins while a create is under way', () => {
    // The guard is a courtesy: nothing is left with or without it.
    for (const guard of ['kept', 'stripped'] as const) {
      it(`EKS has carried it out, and has not answered: the profile goes before its cluster (guard ${guard})`, async () => {
        const cluster = await createManagedCluster(world, `answered-late-${guard}`);
        const profile = `unanswered-${guard}`;
        const answer = holdCall(world.aws, 'after', 'CreateFargateProfile', { clusterName: cluster.eksName });
        const calls = callsFromNow(world.aws, cluster.eksName);
        await world.apply(fargateProfile(profile, { clusterName: cluster.name }));
        await answer.arrived();
        await clusterApi.delete(cluster.clusterPath);
        await isBeingDeleted(world, pathOf(profile, cluster.namespace));
        expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(GUARD);
        if (guard === 'stripped') await strip(world, cluster.controlPlanePath, GUARD);
        answer.open();
        await expectAllGone(world, clusterApi, cluster, [profile]);
        expect(calls.mutations().map(({ operation }) => operation)).to.deep.equal([
          'CreateFargateProfile',
          'DeleteFargateProfile',
        ]);
      });

      it(`EKS has not seen it yet: what it makes of it goes too (guard ${guard})`, async () => {
        const cluster = await createManagedCluster(world, `asked-late-${guard}`);
        const profile = `unseen-${guard}`;
        const request = holdCall(world.aws, 'before', 'CreateFargateProfile', { clusterName: cluster.eksName });
        await world.apply(fargateProfile(profile, { clusterName: cluster.name }));
        await request.arrived();
        await clusterApi.delete(cluster.clusterPath);
        await isBeingDeleted(world, pathOf(profile, cluster.namespace));
        expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(GUARD);
        if (guard === 'stripped') await strip(world, cluster.controlPlanePath, GUARD);
        request.open();
        await world.gone(profile, { timeoutMs: 60_000 });
        await clusterApi.clusterGone(cluster);
        expectNothingInAws(world, cluster);
      });
    }
  });
});
