import { expect } from 'chai';
import { STAND_IN_CRDS, applyCrds, loadCrds } from '../../envtest/clients/crds.ts';
import { eventually } from '../../support/eventually.ts';
import { clusterObject, clusterPath, controlPlaneObject, networkOf } from '../../world/manifests.ts';
import { ACCOUNT, REGION, controlPlanePath, fargateProfile, useWorld } from '../../world/world.ts';
import { EAGER, FIRST, profilesOf, severalComparisons } from './records.ts';

const EKS_CLUSTER = 'tools';
const CONTROL_PLANES = 'awsmanagedcontrolplanes.controlplane.cluster.x-k8s.io';
const MANAGER = { flags: [...EAGER.flags, `--allow-eks-cluster=default=${ACCOUNT}/${REGION}/${EKS_CLUSTER}`] };

describe('an object that names an EKS cluster, and has joined its control plane', () => {
  const world = useWorld();
  before(async () => {
    await world.startManager(MANAGER);
    const { subnets } = world.aws.admin.createCluster({ name: EKS_CLUSTER });
    world.addCleanup(() => world.aws.admin.removeCluster({ name: EKS_CLUSTER }));
    const eksCluster = { name: EKS_CLUSTER, region: REGION };
    await world.apply(fargateProfile('web', { clusterName: undefined, eksCluster, ...FIRST }));
    await world.ready('web');
    const labels = { 'cluster.x-k8s.io/cluster-name': 'prod' };
    const spec = { eksClusterName: EKS_CLUSTER, region: REGION, network: networkOf('prod', subnets) };
    await world.apply(clusterObject('prod'), controlPlaneObject('prod', spec, { labels }));
    await world.controlPlane.api.patch(`${controlPlanePath('prod')}/status`, { status: { ready: true } });
    await eventually(
      async () => ((await world.controlPlane.api.get(controlPlanePath('prod'))).metadata.finalizers ?? []).length > 0,
      { what: 'the finalizer of the control plane' },
    );
  });

  /** Sets whether the API server serves control planes. If not, it answers 404 for them, but keeps the objects. */
  async function serveControlPlanes(served: boolean): Promise<void> {
    const [crd] = (await loadCrds(STAND_IN_CRDS)).filter(({ metadata }) => metadata.name === CONTROL_PLANES);
    if (crd === undefined) throw new Error('there is no CRD of control planes');
    const versions = crd.spec.versions.map((version) => ({ ...version, served }));
    await applyCrds(world.controlPlane.api, { ...crd, spec: { ...crd.spec, versions } });
  }

  it('waits with its deletion for the paused Cluster, though control planes are not served at the start', async () => {
    await world.stopManager();
    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { paused: true } });
    await world.delete('web');
    await serveControlPlanes(false);
    await eventually(
      async () => (await world.controlPlane.api.request('GET', controlPlanePath('prod'))).status === 404,
    );
    await world.startManager({ ...MANAGER, waitUntilReady: false });
    await world.condition('web', 'Deleting', { status: 'True', reason: 'WaitingForAPI' });
    await severalComparisons();
    expect(profilesOf(world, 'web').map(({ status }) => status)).to.deep.equal(['ACTIVE']);
    await serveControlPlanes(true);
    await world.condition('web', 'Paused', { status: 'True' });
    await severalComparisons();
    expect(profilesOf(world, 'web').map(({ status }) => status)).to.deep.equal(['ACTIVE']);
    await world.controlPlane.api.patch(clusterPath('prod'), { spec: { paused: false } });
    await world.gone('web');
    expect(profilesOf(world, 'web')).to.deep.equal([]);
  });
});
