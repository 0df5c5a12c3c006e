import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { caughtUp } from '../world/caught-up.ts';
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
import { createManagedCluster } from '../world/managed-cluster.ts';
import { messageOf } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { fargateProfile, startWorld } from '../world/world.ts';

describe('the teardown of a cluster, with Cluster API’s core manager and the garbage collector', function () {
  let world: World;
  let clusterApi: ClusterApi;

  before(async function () {
    this.timeout(0); // the first time binaries are built from Go modules
    world = await startWorld({ config: QUICK_EKS });
    clusterApi = await startClusterApi(world, this);
    await world.startManager();
  });
  after(() => world.finish());

  // The guard is a courtesy: whatever is true with it has to be true without it.
  for (const guard of ['kept', 'stripped'] as const)
    describe(`with the guard ${guard}`, () => {
      const named = (what: string): string => `${what}-${guard}`;

      async function loseGuard({ controlPlanePath }: ManagedCluster): Promise<void> {
        if (guard === 'kept') return;
        await isBeingDeleted(world, controlPlanePath);
        await strip(world, controlPlanePath, GUARD);
      }

      it('in the background: three profiles go one after the other, then the EKS cluster, then the Cluster', async () => {
        const profiles = ['one', 'two', 'three'].map(named);
        const cluster = await clusterWithProfiles(world, named('background'), profiles);
        const calls = callsFromNow(world.aws);
        await clusterApi.delete(cluster.clusterPath);
        await loseGuard(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
        expect(calls.failures()).to.deep.equal([]);
        expect(clusterApi.capa.outcomesOf(`${cluster.name}-control-plane`)).to.include(
          'Cluster has Fargate Profiles in ACTIVE/CREATING state',
        );
      });

      it('in the foreground, when the garbage collector deletes everything at once', async () => {
        const profiles = ['four', 'five'].map(named);
        const cluster = await clusterWithProfiles(world, named('foreground'), profiles);
        const { code, stderr } = await world.kubectl([
          'delete',
          'clusters.v1beta2.cluster.x-k8s.io',
          cluster.name,
          '--cascade=foreground',
          '--wait=false',
        ]);
        expect(code, stderr).to.equal(0);
        await loseGuard(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
      });

      it('with its namespace', async () => {
        const namespace = named('tenant');
        await world.createNamespace(namespace);
        const profiles = ['six', 'seven'];
        const cluster = await clusterWithProfiles(world, named('in-namespace'), profiles, { namespace });
        await clusterApi.delete(`/api/v1/namespaces/${namespace}`);
        await loseGuard(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
        await clusterApi.gone(`/api/v1/namespaces/${namespace}`);
      });

      it('two profiles that share a role take it along with the second of them', async () => {
        const profiles = ['eight', 'nine'].map(named);
        const spec = { roleName: named('shared-pods') };
        const cluster = await clusterWithProfiles(world, named('sharing'), profiles, { spec });
        const usersAtDeletion: number[] = [];
        const forget = world.aws.onCall(({ operation, nouns }, phase) => {
          if (phase !== 'before' || operation !== 'DeleteRole' || nouns['RoleName'] !== spec.roleName) return;
          usersAtDeletion.push(world.aws.admin.profiles().filter((each) => each.cluster === cluster.eksName).length);
        });
        await clusterApi.delete(cluster.clusterPath);
        await loseGuard(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
        forget();
        expect(usersAtDeletion).to.deep.equal([0]);
        expect(world.inAws.role(spec.roleName)).to.equal(undefined);
      });

      it('with an EKS cluster that has FAILED', async () => {
        const profile = named('ten');
        const cluster = await clusterWithProfiles(world, named('failed'), [profile]);
        world.aws.admin.setCluster({ name: cluster.eksName, status: 'FAILED' });
        await world.controlPlane.api.patch(cluster.controlPlanePath, { metadata: { annotations: { look: 'again' } } });
        await eventually(
          async () => (await world.controlPlane.api.get(cluster.controlPlanePath)).status?.['ready'] === false,
        );
        await clusterApi.delete(cluster.clusterPath);
        await loseGuard(cluster);
        await expectAllGone(world, clusterApi, cluster, [profile]);
      });

      it('with an EKS cluster that is gone already: the role is all that is left to delete', async () => {
        const profile = named('eleven');
        const cluster = await clusterWithProfiles(world, named('eks-gone'), [profile]);
        world.aws.admin.removeCluster({ name: cluster.eksName });
        const calls = callsFromNow(world.aws);
        // Long enough for the Cluster to be gone first, where nothing but the guard keeps it.
        world.aws.admin.addFault({ operation: 'DetachRolePolicy', kind: 'slow-before:1500', times: 1 });
        await clusterApi.delete(cluster.clusterPath);
        await loseGuard(cluster);
        const roleAtItsEnd = clusterApi
          .gone(cluster.clusterPath)
          .then(() => world.aws.admin.roles().some(({ name }) => name.includes(profile)));
        await world.gone(profile, { timeoutMs: 60_000 });
        await clusterApi.clusterGone(cluster);
        expectNothingInAws(world, cluster);
        expect(await roleAtItsEnd, 'the Cluster was gone before the role').to.equal(guard === 'stripped');
        expect(calls.mutations().map(({ operation }) => operation)).to.deep.equal(['DetachRolePolicy', 'DeleteRole']);
      });
    });

  it('before its EKS cluster ever was ready: nothing was begun in AWS, and the garbage collector takes the profile', async () => {
    const cluster = await createManagedCluster(world, 'never-ready', { eksStatus: 'CREATING' });
    const calls = callsFromNow(world.aws);
    await world.apply(fargateProfile('waiting', { clusterName: 'never-ready' }));
    await world.condition('waiting', 'Ready', { status: 'False', reason: 'WaitingForEKSControlPlane' });
    expect(await finalizersOf(world, cluster.controlPlanePath)).not.to.include(GUARD);
    await clusterApi.delete(cluster.clusterPath);
    await clusterApi.clusterGone(cluster);
    await world.gone('waiting');
    expect(calls.all()).to.deep.equal([]);
  });

  it('keeps the pods on Fargate until the workers are drained: the control plane’s deletion starts it, not the Cluster’s', async () => {
    const cluster = await clusterWithProfiles(world, 'drained', ['during']);
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
    const early: string[] = [];
    const forget = world.aws.onCall(async ({ operation, nouns }, phase) => {
      if (phase !== 'before' || operation !== 'DeleteFargateProfile' || nouns['clusterName'] !== cluster.eksName)
        return;
      const { metadata } = await world.controlPlane.api.get(cluster.controlPlanePath);
      if (metadata.deletionTimestamp === undefined) early.push(operation);
    });

    await clusterApi.delete(cluster.clusterPath);
    await isBeingDeleted(world, machine);
    await caughtUp(world, { controlPlanes: false });
    // Somebody who comes now is told, and what is there is looked after: the deletion of the Cluster has been noticed.
    await world.apply(fargateProfile('too-late', { clusterName: 'drained' }));
    const late = await world.condition('too-late', 'Ready', { status: 'False', reason: 'ClusterDeleting' });
    expect(messageOf(late, 'Ready')).to.equal(
      'Cluster default/drained is being deleted: no Fargate profile is created for it any more',
    );
    expect(late.metadata.finalizers).to.equal(undefined);
    await world.patch('during', { spec: { additionalTags: { drained: 'not-yet' } } });
    await eventually(() => world.inAws.profile('default_during')?.tags['drained'] === 'not-yet');
    expect(world.inAws.profile('default_during')?.status).to.equal('ACTIVE');
    expect((await world.profile('during'))?.metadata.deletionTimestamp).to.equal(undefined);

    await world.controlPlane.api.patch(machine, { metadata: { finalizers: null } });
    await expectAllGone(world, clusterApi, cluster, ['during']);
    forget();
    expect(early).to.deep.equal([]);
    await world.delete('too-late');
    await world.gone('too-late');
  });
});
