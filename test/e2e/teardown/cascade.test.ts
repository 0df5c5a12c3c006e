import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow, holdCall } from '../../world/aws/calls.ts';
import { MANAGER_NAMESPACE, STATIC_IDENTITY, createStaticIdentity } from '../../world/aws/identities.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
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
import { createManagedCluster, managedCluster } from '../../world/cluster-api/managed-cluster.ts';
import { messageOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, REGION, fargateProfile, startWorld } from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

/** The finalizer that the core manager of Cluster API sets on every Machine. Source: `MachineFinalizer` of Cluster API. */
const MACHINE_FINALIZER = 'machine.cluster.x-k8s.io';

describe('a cluster teardown with the core manager of Cluster API and the garbage collector', () => {
  let world: World;
  let clusterApi: ClusterApi;

  before(async function () {
    this.timeout(0); // No time limit: the first test run on a machine downloads Go modules and builds programs.
    world = await startWorld({ config: QUICK_EKS });
    await world.createNamespace(MANAGER_NAMESPACE);
    clusterApi = await startClusterApi(world, this);
    await world.startManager({ flags: [`--allow-eks-cluster=default=${ACCOUNT}/${REGION}/default_*`] });
  });
  after(() => world.finish());

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

      it('deletes the objects that name the EKS cluster in spec.eksCluster, with profiles and roles', async () => {
        const profiles = ['joined', 'joined-by-account'].map(nameFor);
        const name = nameFor('joining');
        // The controller creates no Fargate profile for a new AWSFargateProfile with spec.eksCluster if an
        // AWSManagedControlPlane manages this EKS cluster. So the test applies these AWSFargateProfiles before it
        // creates the control plane.
        const { eksName } = managedCluster(name, 'default');
        const { subnets } = world.aws.admin.createCluster({ name: eksName, region: REGION });
        const inEks = (profile: string, spec: object = {}): object =>
          fargateProfile(profile, { clusterName: undefined, eksCluster: { name: eksName, region: REGION, ...spec } });
        // The AWSClusterStaticIdentity belongs to the same AWS account as the manager's own credentials.
        await createStaticIdentity(world, name, ACCOUNT);
        await world.apply(
          inEks(nameFor('joined')),
          inEks(nameFor('joined-by-account'), { identityRef: { kind: STATIC_IDENTITY, name } }),
        );
        for (const profile of profiles) await world.ready(profile);
        const cluster = await createManagedCluster(world, name, { existing: { subnets } });
        await eventually(async () =>
          (await finalizersOf(world, cluster.controlPlanePath)).includes(CONTROL_PLANE_FINALIZER),
        );

        await world.apply(inEks(nameFor('late')));
        const late = await world.condition(nameFor('late'), 'Stalled', { status: 'True', reason: 'UseClusterName' });
        expect(messageOf(late, 'Stalled')).to.include(`spec.clusterName "${name}"`);
        await world.delete(nameFor('late'));
        await world.gone(nameFor('late'));

        await clusterApi.delete(cluster.clusterPath);
        await loseFinalizer(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
        for (const profile of profiles)
          expect(world.awsView.role(`${cluster.eksName}-default_${profile}_fargate`)).to.equal(undefined);
      });

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

      it('deletes a role that two profiles share with the second profile', async () => {
        const profiles = ['eight', 'nine'].map(nameFor);
        const spec = { roleName: nameFor('shared-pods') };
        const cluster = await createClusterWithProfiles(world, nameFor('sharing'), profiles, { spec });
        const usersAtDeletion: number[] = [];
        const forget = world.aws.onCall(({ operation, identifiers }, phase) => {
          if (phase !== 'before' || operation !== 'DeleteRole' || identifiers['RoleName'] !== spec.roleName) return;
          usersAtDeletion.push(world.aws.admin.profiles().filter((each) => each.cluster === cluster.eksName).length);
        });
        await clusterApi.delete(cluster.clusterPath);
        await loseFinalizer(cluster);
        await expectAllGone(world, clusterApi, cluster, profiles);
        forget();
        expect(usersAtDeletion).to.deep.equal([0]);
        expect(world.awsView.role(spec.roleName)).to.equal(undefined);
      });

      it('with an EKS cluster in status FAILED succeeds', async () => {
        const profile = nameFor('ten');
        const cluster = await createClusterWithProfiles(world, nameFor('failed'), [profile]);
        world.aws.admin.setCluster({ name: cluster.eksName, status: 'FAILED' });
        await world.controlPlane.api.patch(cluster.controlPlanePath, { metadata: { annotations: { look: 'again' } } });
        await eventually(
          async () => (await world.controlPlane.api.get(cluster.controlPlanePath)).status?.['ready'] === false,
        );
        await clusterApi.delete(cluster.clusterPath);
        await loseFinalizer(cluster);
        await expectAllGone(world, clusterApi, cluster, [profile]);
      });

      it('with a missing EKS cluster deletes only the role', async () => {
        const profile = nameFor('eleven');
        const cluster = await createClusterWithProfiles(world, nameFor('eks-gone'), [profile]);
        world.aws.admin.removeCluster({ name: cluster.eksName });
        const calls = callsFromNow(world.aws);
        // If the test has removed the control plane finalizer, the deletion of the Cluster does not wait for the deletion
        // of the role. So the test then holds the first IAM call for this deletion until the Cluster is gone.
        const detachment = holdCall(world.aws, 'before', 'DetachRolePolicy', {});
        if (finalizer !== 'stripped') detachment.open();
        await clusterApi.delete(cluster.clusterPath);
        await loseFinalizer(cluster);
        const roleAtItsEnd = clusterApi.gone(cluster.clusterPath).then(() => {
          const hasRole = world.aws.admin.roles().some(({ name }) => name.includes(profile));
          detachment.open();
          return hasRole;
        });
        await world.gone(profile);
        await clusterApi.clusterGone(cluster);
        expectNothingInAws(world, cluster);
        expect(await roleAtItsEnd, 'the Cluster was gone before the role').to.equal(finalizer === 'stripped');
        expect(operationsOf(calls)).to.deep.equal(['DetachRolePolicy', 'DeleteRole']);
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
    await world.apply(fargateProfile('pruned', { clusterName: 'drained', deletionPolicy: 'Retain' }));
    await world.ready('pruned');
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
    // The core manager deletes the control plane if its cache has no Machine of the Cluster. Its finalizer on the Machine
    // shows that its cache has the Machine.
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
    await waitForCacheSync(world, { controlPlanes: false });
    // The reason ClusterDeleting of a new AWSFargateProfile shows that the controller has seen the deletion of the
    // Cluster.
    await world.apply(fargateProfile('too-late', { clusterName: 'drained' }));
    const late = await world.condition('too-late', 'Ready', { status: 'False', reason: 'ClusterDeleting' });
    expect(messageOf(late, 'Ready')).to.equal(
      'Cluster default/drained is being deleted, so the controller creates no Fargate profile for it',
    );
    expect(late.metadata.finalizers).to.equal(undefined);
    await world.patch('during', { spec: { additionalTags: { drained: 'not-yet' } } });
    await eventually(() => world.awsView.profile('default_during')?.tags['drained'] === 'not-yet');
    expect(world.awsView.profile('default_during')?.status).to.equal('ACTIVE');
    expect((await world.profile('during'))?.metadata.deletionTimestamp).to.equal(undefined);

    // While Cluster API drains the nodes, a GitOps tool or the deletion of the namespace may delete an
    // AWSFargateProfile with deletionPolicy Retain. The controller must then keep its finalizer on the
    // AWSFargateProfile. Without the AWSFargateProfile, no object would say later which Fargate profile blocks the
    // deletion of the EKS cluster.
    await world.delete('pruned');
    await world.condition('pruned', 'Stalled', { status: 'True', reason: 'RetainBlocksClusterDeletion' });
    expect(world.awsView.profile('default_pruned')?.status).to.equal('ACTIVE');
    await world.patch('pruned', { spec: { deletionPolicy: 'Delete' } });

    await world.controlPlane.api.patch(machine, { metadata: { finalizers: null } });
    await expectAllGone(world, clusterApi, cluster, ['during', 'pruned']);
    forget();
    expect(deletedEarly.filter((name) => name !== 'default_pruned')).to.deep.equal([]);
    await world.delete('too-late');
    await world.gone('too-late');
  });
});
