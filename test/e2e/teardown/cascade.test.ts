import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import { type ClusterApi, QUICK_EKS, startClusterApi } from '../../world/cluster-api/cluster-api.ts';
import {
  CONTROL_PLANE_FINALIZER,
  createClusterWithProfiles,
  expectAllGone,
  finalizersOf,
  waitUntilDeleting,
  removeFinalizers,
} from '../../world/cluster-api/cluster-teardown.ts';
import { type ManagedCluster, createManagedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';

/**
 * The finalizer that the core manager of Cluster API sets on every Machine. Source: `MachineFinalizer` of Cluster API.
 */
const MACHINE_FINALIZER = 'machine.cluster.x-k8s.io';

describe('a cluster teardown with the core manager of Cluster API and the garbage collector', () => {
  const world = useWorld({ config: QUICK_EKS });
  let clusterApi: ClusterApi;

  before(async function () {
    clusterApi = await startClusterApi(world, this);
    await world.startManager();
  });

  // Each test runs twice: with the finalizer that the manager sets on the control plane, and without it, as if another
  // controller had removed it. The results in AWS must be the same.
  for (const finalizer of ['kept', 'stripped'] as const)
    describe(`with the control plane finalizer ${finalizer}`, () => {
      const nameFor = (what: string): string => `${what}-${finalizer}`;

      async function loseFinalizer({ controlPlanePath }: ManagedCluster): Promise<void> {
        if (finalizer === 'kept') return;
        await waitUntilDeleting(world, controlPlanePath);
        await removeFinalizers(world, controlPlanePath, CONTROL_PLANE_FINALIZER);
      }

      it('in the background deletes three profiles one after the other, then the EKS cluster, then the Cluster', async () => {
        const profiles = ['one', 'two', 'three'].map(nameFor);
        const cluster = await createClusterWithProfiles(world, nameFor('background'), profiles);
        const calls = callsFromNow(world.aws);
        await clusterApi.delete(cluster.clusterPath);
        await loseFinalizer(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
        expect(calls.failures()).to.deep.equal([]);
        expect(clusterApi.capa.outcomesOf(`${cluster.name}-control-plane`)).to.include(
          'Cluster has Fargate Profiles in ACTIVE/CREATING state',
        );
      });

      it('in the foreground, where the garbage collector deletes all objects at once, succeeds', async () => {
        const profiles = ['four', 'five'].map(nameFor);
        const cluster = await createClusterWithProfiles(world, nameFor('foreground'), profiles);
        const { code, stderr } = await world.kubectl([
          'delete',
          'clusters.v1beta2.cluster.x-k8s.io',
          cluster.name,
          '--cascade=foreground',
          '--wait=false',
        ]);
        expect(code, stderr).to.equal(0);
        await loseFinalizer(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
      });

      it('by the deletion of its namespace succeeds', async () => {
        const namespace = nameFor('tenant');
        await world.createNamespace(namespace);
        const profiles = ['six', 'seven'];
        const cluster = await createClusterWithProfiles(world, nameFor('in-namespace'), profiles, { namespace });
        await clusterApi.delete(`/api/v1/namespaces/${namespace}`);
        await loseFinalizer(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
        await clusterApi.gone(`/api/v1/namespaces/${namespace}`);
      });
    });

  it('before the EKS cluster was ready makes no AWS call, and the garbage collector deletes the profile', async () => {
    const cluster = await createManagedCluster(world, 'never-ready', { eksStatus: 'CREATING' });
    const calls = callsFromNow(world.aws);
    await world.apply(fargateProfile('waiting', { clusterName: 'never-ready' }));
    await world.condition('waiting', 'Ready', { status: 'False', reason: 'WaitingForEKSControlPlane' });
    expect(await finalizersOf(world, cluster.controlPlanePath)).not.to.include(CONTROL_PLANE_FINALIZER);
    await clusterApi.delete(cluster.clusterPath);
    await clusterApi.clusterGone(cluster);
    await world.gone('waiting');
    expect(calls.all()).to.deep.equal([]);
  });

  it('keeps profiles until the workers are drained: it begins with the deletion of the control plane, not of the Cluster', async () => {
    const cluster = await createClusterWithProfiles(world, 'drained', ['during']);
    const machine = '/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines/worker';
    await world.apply({
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Machine',
      metadata: {
        name: 'worker',
        namespace: 'default',
        labels: { 'cluster.x-k8s.io/cluster-name': 'drained' },
        finalizers: ['test.example/drain'],
      },
      spec: {
        clusterName: 'drained',
        bootstrap: { dataSecretName: 'worker' },
        infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'AWSMachine', name: 'worker' },
      },
    });
    // The core manager deletes the control plane as soon as its cache has no Machine of the Cluster. When the core
    // manager has added its finalizer to the Machine, its cache contains the Machine.
    await eventually(async () => (await finalizersOf(world, machine)).includes(MACHINE_FINALIZER), {
      what: 'the finalizer of the core manager on the Machine',
    });
    const deletedEarly: string[] = [];
    const forget = world.aws.onCall(async ({ operation, identifiers }, phase) => {
      if (phase !== 'before' || operation !== 'DeleteFargateProfile' || identifiers['clusterName'] !== cluster.eksName)
        return;
      const { metadata } = await world.controlPlane.api.get(cluster.controlPlanePath);
      if (metadata.deletionTimestamp === undefined) deletedEarly.push(identifiers['fargateProfileName'] ?? '');
    });

    await clusterApi.delete(cluster.clusterPath);
    await waitUntilDeleting(world, machine);
    await waitForCacheSync(world);
    await world.patch('during', { spec: { additionalTags: { drained: 'not-yet' } } });
    await eventually(() => world.awsView.profile('default_during')?.tags['drained'] === 'not-yet');
    expect(world.awsView.profile('default_during')?.status).to.equal('ACTIVE');
    expect((await world.profile('during'))?.metadata.deletionTimestamp).to.equal(undefined);

    await world.controlPlane.api.patch(machine, { metadata: { finalizers: null } });
    await expectAllGone(world, clusterApi, cluster, ['during']);
    forget();
    expect(deletedEarly).to.deep.equal([]);
  });
});
