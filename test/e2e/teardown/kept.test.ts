import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { eventually } from '../../support/eventually.ts';
import type { Calls } from '../../world/aws/calls.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import type { ClusterApi } from '../../world/cluster-api/cluster-api.ts';
import { QUICK_EKS, startClusterApi } from '../../world/cluster-api/cluster-api.ts';
import {
  CONTROL_PLANE_FINALIZER,
  createClusterWithProfiles,
  expectAllGone,
  finalizersOf,
  waitUntilDeleting,
  removeFinalizers,
} from '../../world/cluster-api/cluster-teardown.ts';
import type { ManagedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { messageOf, stalled, summaryOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { fargateProfile, startWorld } from '../../world/world.ts';
import { HELD_MS, operationsOf } from '../../world/aws/operations.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const RETAIN = { deletionPolicy: 'Retain' };

describe('objects that block a cluster teardown', () => {
  let world: World;
  let clusterApi: ClusterApi;

  before(async function () {
    this.timeout(0); // No time limit: the first test run on a machine downloads Go modules and builds programs.
    world = await startWorld({ config: QUICK_EKS });
    clusterApi = await startClusterApi(world, this);
    await world.startManager();
  });
  after(() => world.finish());

  // A test may leave the AWS emulator with another duration of deletions. This hook resets it for the next tests.
  afterEach(() => world.aws.admin.setConfig({ eks: { deleteMs: 300 } }));

  describe('a profile with deletionPolicy Retain', () => {
    /**
     * Deletes a Cluster with two AWSFargateProfiles, one of which has deletionPolicy Retain. Waits until only the
     * AWSFargateProfile with deletionPolicy Retain is left.
     */
    async function blockTeardown(name: string): Promise<{ cluster: ManagedCluster; object: RawObject; calls: Calls }> {
      const cluster = await createClusterWithProfiles(world, name, [`${name}-other`]);
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

    it('blocks the teardown and lists the ways to end that', async () => {
      const { cluster, object, calls } = await blockTeardown('ways');
      expect(summaryOf(object)).to.deep.equal(stalled('RetainBlocksClusterDeletion'));
      expect(object.metadata.deletionTimestamp).to.equal(undefined);
      expect(messageOf(object, 'Stalled')).to.equal(
        'Fargate profile "default_ways-kept" blocks the deletion of EKS cluster "default_ways-control-plane": EKS deletes no cluster that has Fargate profiles, and the controller keeps this profile because spec.deletionPolicy is Retain. If you no longer need the profile and its role, set spec.deletionPolicy of this object to Delete: then the controller deletes both. If you want to keep the role, delete only the profile yourself in AWS. Or, if this object must go at once, delete it, remove awsfargateprofile.infrastructure.cluster.x-k8s.io from its metadata.finalizers, and delete the profile yourself in AWS. The deletion of the cluster waits until the profile is gone.',
      );
      await world.event(
        'ways-kept',
        'Warning RetainBlocksClusterDeletion: Fargate profile "default_ways-kept" blocks the deletion of EKS cluster',
      );
      expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(CONTROL_PLANE_FINALIZER);
      expect(operationsOf(calls)).to.deep.equal([]);

      // The message of the condition Stalled lists several ways to let the deletion of the Cluster continue. The test
      // uses the first: it sets deletionPolicy to Delete.
      await world.patch('ways-kept', { spec: { deletionPolicy: 'Delete' } });
      await expectAllGone(world, clusterApi, cluster, ['ways-kept']);
    });

    it('disappears soon after its profile is deleted in AWS, and its role is retained', async () => {
      const { cluster, calls } = await blockTeardown('by-hand');
      world.aws.admin.removeProfile({ cluster: cluster.eksName, name: 'default_by-hand-kept' });
      await world.gone('by-hand-kept');
      await clusterApi.clusterGone(cluster);
      expect(operationsOf(calls)).to.deep.equal([]);
      expect(world.awsView.role('by-hand-default_by-hand-kept_fargate')).not.to.equal(undefined);
      world.aws.admin.removeRole({ name: 'by-hand-default_by-hand-kept_fargate' });
    });

    it('is abandoned when its finalizer is removed: the control plane finalizer goes, and EKS refuses to delete the cluster', async () => {
      const { cluster, calls } = await blockTeardown('abandoned');
      await world.delete('abandoned-kept');
      // The AWSFargateProfile is being deleted, but its retained Fargate profile stays in EKS. EKS deletes no cluster
      // that has Fargate profiles.
      await world.condition('abandoned-kept', 'Deleting', { status: 'True', reason: 'RetainBlocksClusterDeletion' });
      await world.patch('abandoned-kept', { metadata: { finalizers: null } });
      await world.gone('abandoned-kept');
      await eventually(async () =>
        expect(await finalizersOf(world, cluster.controlPlanePath)).not.to.include(CONTROL_PLANE_FINALIZER),
      );
      expect(world.awsView.profile('default_abandoned-kept')?.status).to.equal('ACTIVE');
      expect(operationsOf(calls)).to.deep.equal([]);

      world.aws.admin.removeProfile({ cluster: cluster.eksName, name: 'default_abandoned-kept' });
      world.aws.admin.removeRole({ name: 'abandoned-default_abandoned-kept_fargate' });
      await clusterApi.clusterGone(cluster);
    });

    it('does not block the teardown when nothing exists for it in AWS', async () => {
      const cluster = await createClusterWithProfiles(world, 'hardly', []);
      await world.stopManager();
      // The test creates the state that a manager leaves when it is killed right after it has set its finalizers on an
      // AWSFargateProfile and on the control plane.
      await world.apply(fargateProfile('hardly', { clusterName: 'hardly', ...RETAIN }, { finalizers: [FINALIZER] }));
      const before = await finalizersOf(world, cluster.controlPlanePath);
      await world.controlPlane.api.patch(cluster.controlPlanePath, {
        metadata: { finalizers: [...before, CONTROL_PLANE_FINALIZER] },
      });
      await clusterApi.delete(cluster.clusterPath);
      await waitUntilDeleting(world, cluster.controlPlanePath);
      await world.startManager();
      await world.gone('hardly');
      await clusterApi.clusterGone(cluster);
    });
  });

  it('an object that Git applies again during the teardown gets no finalizer, reports the teardown, and does not block it', async () => {
    const cluster = await createClusterWithProfiles(world, 'gitops', ['gitops-1', 'gitops-2']);
    // A deletion in EKS lasts until the test ends it. So when the first AWSFargateProfile is gone, the test can apply it
    // again before the second one is gone.
    world.aws.admin.setConfig({ eks: { deleteMs: HELD_MS } });
    const endDeletion = async (): Promise<string> => {
      const profile = await eventually(
        () => world.aws.admin.profiles().find(({ status }) => status === 'DELETING') ?? false,
      );
      world.aws.admin.removeProfile(profile);
      return profile.name.replace('default_', '');
    };
    await clusterApi.delete(cluster.clusterPath);
    const again = await endDeletion();
    await world.gone(again);
    const other = again === 'gitops-1' ? 'gitops-2' : 'gitops-1';
    await world.apply(fargateProfile(again, { clusterName: 'gitops' }));
    const refused = await world.condition(again, 'Ready', { status: 'False', reason: 'ClusterDeleting' });
    expect(messageOf(refused, 'Ready')).to.equal(
      'Cluster default/gitops is being deleted, so the controller creates no Fargate profile for it',
    );
    expect(refused.metadata.finalizers).to.equal(undefined);
    expect(refused.metadata.ownerReferences).to.equal(undefined);
    const calls = callsFromNow(world.aws);
    expect(await endDeletion()).to.equal(other);
    await world.gone(other);
    await clusterApi.clusterGone(cluster);
    const orphan = await world.condition(again, 'Ready', { status: 'False', reason: 'WaitingForCluster' });
    expect(orphan.metadata.uid).to.equal(refused.metadata.uid);
    expect(calls.about(`default_${again}`).filter(({ mutates }) => mutates)).to.deep.equal([]);
    await world.delete(again);
    await world.gone(again);
  });

  describe('the control plane finalizer', () => {
    it('is restored when another controller overwrites the list of finalizers', async () => {
      const cluster = await createClusterWithProfiles(world, 'stripping', ['stripping']);
      await removeFinalizers(world, cluster.controlPlanePath, CONTROL_PLANE_FINALIZER);
      await eventually(async () =>
        expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(CONTROL_PLANE_FINALIZER),
      );
      await clusterApi.delete(cluster.clusterPath);
      await expectAllGone(world, clusterApi, cluster, ['stripping']);
    });

    it('is removed with the last profile of a cluster that stays', async () => {
      const cluster = await createClusterWithProfiles(world, 'staying', ['staying-1', 'staying-2']);
      await world.delete('staying-1');
      await world.gone('staying-1');
      expect(await finalizersOf(world, cluster.controlPlanePath)).to.include(CONTROL_PLANE_FINALIZER);
      await world.delete('staying-2');
      await world.gone('staying-2');
      await eventually(async () =>
        expect(await finalizersOf(world, cluster.controlPlanePath)).not.to.include(CONTROL_PLANE_FINALIZER),
      );
    });

    it('is removed at the start of the manager from control planes without profiles', async () => {
      const [living, deleted, orphaned] = await Promise.all(
        ['swept', 'swept-deleted', 'swept-orphaned'].map((name) => createClusterWithProfiles(world, name, [])),
      );
      await world.stopManager();
      for (const { controlPlanePath } of [living, deleted, orphaned] as ManagedCluster[]) {
        const before = await finalizersOf(world, controlPlanePath);
        await world.controlPlane.api.patch(controlPlanePath, {
          metadata: { finalizers: [...before, CONTROL_PLANE_FINALIZER] },
        });
      }
      await clusterApi.delete(String(deleted?.clusterPath));
      await waitUntilDeleting(world, String(deleted?.controlPlanePath));
      await clusterApi.delete(String(orphaned?.clusterPath));
      await world.controlPlane.api.patch(String(orphaned?.clusterPath), { metadata: { finalizers: null } });
      await clusterApi.gone(String(orphaned?.clusterPath));
      await world.startManager();
      await clusterApi.clusterGone(deleted as ManagedCluster);
      const finalizersIn = (cluster: ManagedCluster | undefined): Promise<readonly string[]> =>
        finalizersOf(world, String(cluster?.controlPlanePath));
      await eventually(async () => expect(await finalizersIn(living)).not.to.include(CONTROL_PLANE_FINALIZER));
      // The control plane may already be gone: the simulated Cluster API Provider AWS removes it if the Cluster still
      // exists when the simulator sees the deletion of the control plane.
      const { api } = world.controlPlane;
      await eventually(
        async () =>
          !(await api.exists(String(orphaned?.controlPlanePath))) ||
          !(await finalizersIn(orphaned)).includes(CONTROL_PLANE_FINALIZER),
      );
    });
  });
});
