import { expect } from 'chai';
import type { KubeObject } from '../envtest/api.ts';
import { eventually } from '../support/eventually.ts';
import type { Calls } from '../world/calls.ts';
import { callsFromNow } from '../world/calls.ts';
import type { ClusterApi } from '../world/cluster-api.ts';
import { QUICK_EKS, startClusterApi } from '../world/cluster-api.ts';
import {
  GUARD,
  clusterWithProfiles,
  expectAllGone,
  finalizersOf,
  isBeingDeleted,
  strip,
} from '../world/cluster-teardown.ts';
import type { ManagedCluster } from '../world/managed-cluster.ts';
import { messageOf, stalled, standing } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { fargateProfile, startWorld } from '../world/world.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const RETAIN = { deletionPolicy: 'Retain' };

describe('what stands in the way of a teardown, or comes in its midst', function () {
  let world: World;
  let clusterApi: ClusterApi;

  before(async function () {
    this.timeout(0); // the first time binaries are built from Go modules
    world = await startWorld({ config: QUICK_EKS });
    clusterApi = await startClusterApi(world, this);
    await world.startManager();
  });
  after(() => world.finish());

  // A test that fails is not to fail those after it.
  afterEach(() => world.aws.admin.setConfig({ eks: { deleteMs: 300 } }));

  const mutationsOf = (calls: Calls): readonly string[] => calls.mutations().map(({ operation }) => operation);

  describe('a profile with deletionPolicy Retain', () => {
    /** Beside one that is not to be retained: that one goes. */
    async function blocked(name: string): Promise<{ cluster: ManagedCluster; object: KubeObject; calls: Calls }> {
      const cluster = await clusterWithProfiles(world, name, [`${name}-other`]);
      await world.apply(fargateProfile(`${name}-kept`, { clusterName: name, ...RETAIN }));
      await world.ready(`${name}-kept`);
      await clusterApi.delete(cluster.clusterPath);
      await world.gone(`${name}-other`);
      const calls = callsFromNow(world.aws);
      const object = await world.condition(`${name}-kept`, 'Stalled', {
        status: 'True',
        reason: 'RetainBlocksClusterDeletion',
      });
      return { cluster, object, calls };
    }

    it('stays, holds everything up, and says which ways out there are', async () => {
      const { cluster, object, calls } = await blocked('ways');
      expect(standing(object)).to.deep.equal(stalled('RetainBlocksClusterDeletion'));
      expect(object.metadata.deletionTimestamp).to.equal(undefined);
      expect(messageOf(object, 'Stalled')).to.equal(
        'The cluster is being deleted, and EKS cannot delete cluster "default_ways-control-plane" while it has Fargate profile "default_ways-kept", which deletionPolicy Retain keeps. Set spec.deletionPolicy to Delete to have the profile deleted; or delete the profile in AWS; or remove this object\'s finalizer to abandon the profile.',
      );
      await world.event('ways-kept', 'Warning RetainBlocksClusterDeletion: The cluster is being deleted');
      expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(GUARD);
      expect(mutationsOf(calls)).to.deep.equal([]);

      // The first of the ways.
      await world.patch('ways-kept', { spec: { deletionPolicy: 'Delete' } });
      await expectAllGone(world, clusterApi, cluster, ['ways-kept']);
    });

    it('is gone within seconds once somebody has deleted the profile in AWS; its role is retained', async () => {
      const { cluster, calls } = await blocked('by-hand');
      world.aws.admin.removeProfile({ cluster: cluster.eksName, name: 'default_by-hand-kept' });
      await world.gone('by-hand-kept', { timeoutMs: 20_000 });
      await clusterApi.clusterGone(cluster);
      expect(mutationsOf(calls)).to.deep.equal([]);
      expect(world.inAws.role('by-hand-default_by-hand-kept_fargate')).not.to.equal(undefined);
      world.aws.admin.removeRole({ name: 'by-hand-default_by-hand-kept_fargate' });
    });

    it('is abandoned when its finalizer is removed: the guard goes, and EKS’s refusal is left to the human', async () => {
      const { cluster, calls } = await blocked('abandoned');
      await world.delete('abandoned-kept');
      // Being deleted it blocks all the same.
      await world.condition('abandoned-kept', 'Deleting', { status: 'True', reason: 'RetainBlocksClusterDeletion' });
      await world.patch('abandoned-kept', { metadata: { finalizers: null } });
      await world.gone('abandoned-kept');
      await eventually(async () => expect(await finalizersOf(world, cluster.controlPlanePath)).not.to.include(GUARD));
      expect(world.inAws.profile('default_abandoned-kept')?.status).to.equal('ACTIVE');
      expect(mutationsOf(calls)).to.deep.equal([]);

      world.aws.admin.removeProfile({ cluster: cluster.eksName, name: 'default_abandoned-kept' });
      world.aws.admin.removeRole({ name: 'abandoned-default_abandoned-kept_fargate' });
      await clusterApi.clusterGone(cluster);
    });

    it('that got its finalizer and nothing else does not hold anything up', async () => {
      const cluster = await clusterWithProfiles(world, 'hardly', []);
      await world.stopManager();
      // As a manager leaves it that is killed right after the guard.
      await world.apply(fargateProfile('hardly', { clusterName: 'hardly', ...RETAIN }, { finalizers: [FINALIZER] }));
      const before = await finalizersOf(world, cluster.controlPlanePath);
      await world.controlPlane.api.patch(cluster.controlPlanePath, { metadata: { finalizers: [...before, GUARD] } });
      await clusterApi.delete(cluster.clusterPath);
      await isBeingDeleted(world, cluster.controlPlanePath);
      await world.startManager();
      await world.gone('hardly');
      await clusterApi.clusterGone(cluster);
    });
  });

  it('an object that Git applies again during the teardown gets no finalizer, says so, and holds nothing up', async () => {
    const cluster = await clusterWithProfiles(world, 'gitops', ['gitops-1', 'gitops-2']);
    // EKS takes its time with the second, and Git is back with the first meanwhile.
    world.aws.admin.setConfig({ eks: { deleteMs: 2_000 } });
    await clusterApi.delete(cluster.clusterPath);
    const names = ['gitops-1', 'gitops-2'] as const;
    const again = await Promise.race(names.map((name) => world.gone(name).then(() => name)));
    const other = again === 'gitops-1' ? 'gitops-2' : 'gitops-1';
    await world.apply(fargateProfile(again, { clusterName: 'gitops' }));
    const refused = await world.condition(again, 'Ready', { status: 'False', reason: 'ClusterDeleting' });
    expect(messageOf(refused, 'Ready')).to.equal(
      'Cluster default/gitops is being deleted: no Fargate profile is created for it any more',
    );
    expect(refused.metadata.finalizers).to.equal(undefined);
    expect(refused.metadata.ownerReferences).to.equal(undefined);
    const calls = callsFromNow(world.aws);
    await world.gone(other);
    await clusterApi.clusterGone(cluster);
    const orphan = await world.condition(again, 'Ready', { status: 'False', reason: 'WaitingForCluster' });
    expect(orphan.metadata.uid).to.equal(refused.metadata.uid);
    expect(calls.about(`default_${again}`).filter(({ mutates }) => mutates)).to.deep.equal([]);
    await world.delete(again);
    await world.gone(again);
  });

  describe('the guard', () => {
    it('is put back when another controller, which writes whole lists of finalizers, strips it', async () => {
      const cluster = await clusterWithProfiles(world, 'stripping', ['stripping']);
      await strip(world, cluster.controlPlanePath, GUARD);
      await eventually(async () => expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(GUARD));
      await clusterApi.delete(cluster.clusterPath);
      await expectAllGone(world, clusterApi, cluster, ['stripping']);
    });

    it('goes with the last profile of a cluster that stays', async () => {
      const cluster = await clusterWithProfiles(world, 'staying', ['staying-1', 'staying-2']);
      await world.delete('staying-1');
      await world.gone('staying-1');
      expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(GUARD);
      await world.delete('staying-2');
      await world.gone('staying-2');
      await eventually(async () => expect(await finalizersOf(world, cluster.controlPlanePath)).not.to.include(GUARD));
    });

    it('that was left on a control plane without profiles is swept when the manager starts, deleted or not', async () => {
      const [living, deleted, orphaned] = await Promise.all(
        ['swept', 'swept-deleted', 'swept-orphaned'].map((name) => clusterWithProfiles(world, name, [])),
      );
      await world.stopManager();
      for (const { controlPlanePath } of [living, deleted, orphaned] as ManagedCluster[]) {
        const before = await finalizersOf(world, controlPlanePath);
        await world.controlPlane.api.patch(controlPlanePath, { metadata: { finalizers: [...before, GUARD] } });
      }
      await clusterApi.delete(String(deleted?.clusterPath));
      await isBeingDeleted(world, String(deleted?.controlPlanePath));
      await clusterApi.delete(String(orphaned?.clusterPath));
      await world.controlPlane.api.patch(String(orphaned?.clusterPath), { metadata: { finalizers: null } });
      await clusterApi.gone(String(orphaned?.clusterPath));
      await world.startManager();
      await clusterApi.clusterGone(deleted as ManagedCluster);
      const finalizersIn = (cluster: ManagedCluster | undefined): Promise<readonly string[]> =>
        finalizersOf(world, String(cluster?.controlPlanePath));
      await eventually(async () => expect(await finalizersIn(living)).not.to.include(GUARD));
      // Where its own controller heard of the deletion before the Cluster was gone, nothing else keeps it.
      const { api } = world.controlPlane;
      await eventually(
        async () =>
          !(await api.exists(String(orphaned?.controlPlanePath))) || !(await finalizersIn(orphaned)).includes(GUARD),
      );
    });
  });
});
