import { expect } from 'chai';
import type { ControlPlane } from '../../envtest/control-plane/controlplane.ts';
import { startCoreManager } from '../../envtest/control-plane/coremanager.ts';
import { applyCrds, STAND_IN_CRDS } from '../../envtest/clients/crds.ts';
import { skipIfBinariesMissing } from '../../envtest/skip.ts';
import { EMPTY_SET_UP, acquireControlPlane } from '../../envtest/control-plane/pool.ts';
import { eventually } from '../../support/eventually.ts';

const NAMESPACE = 'namespaces/default';
const CLUSTER = `/apis/cluster.x-k8s.io/v1beta2/${NAMESPACE}/clusters`;
const CONTROL_PLANE = `/apis/controlplane.cluster.x-k8s.io/v1beta2/${NAMESPACE}/awsmanagedcontrolplanes`;
const INFRASTRUCTURE = `/apis/infrastructure.cluster.x-k8s.io/v1beta2/${NAMESPACE}/awsmanagedclusters`;

const CAPA_FINALIZER = 'awsmanagedcontrolplane.controlplane.cluster.x-k8s.io';
const FOREIGN_FINALIZER = 'test.example/holds-it';

describe("Cluster API's core manager on the test control plane", () => {
  let controlPlane: ControlPlane;

  before(async function () {
    this.timeout(0); // No time limit: the first test run on a machine downloads Go modules and builds programs.
    controlPlane = await acquireControlPlane(EMPTY_SET_UP);
    await applyCrds(controlPlane.api, STAND_IN_CRDS);
    await startCoreManager(controlPlane).catch(skipIfBinariesMissing(this));
  });
  after(() => controlPlane.stop());

  it('sets owner references on the control plane and infrastructure objects, and deletes a Cluster only after both are gone', async () => {
    const { api } = controlPlane;
    const controlPlaneRef = { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'AWSManagedControlPlane', name: 'prod' };
    const infrastructureRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'AWSManagedCluster', name: 'prod' };
    await api.post(CONTROL_PLANE, {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedControlPlane',
      metadata: { name: 'prod', finalizers: [CAPA_FINALIZER, FOREIGN_FINALIZER] },
      spec: { eksClusterName: 'default_prod', region: 'eu-central-1', version: 'v1.33.0' },
    });
    await api.post(INFRASTRUCTURE, {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedCluster',
      metadata: { name: 'prod' },
      spec: { controlPlaneEndpoint: { host: '127.0.0.1', port: 1 } },
    });
    const cluster = await api.post(CLUSTER, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name: 'prod' },
      spec: { controlPlaneRef, infrastructureRef },
    });

    for (const path of [CONTROL_PLANE, INFRASTRUCTURE]) {
      await eventually(async () => {
        const [owner] = (await api.get(`${path}/prod`)).metadata.ownerReferences ?? [];
        expect(owner).to.include({ kind: 'Cluster', name: 'prod', uid: cluster.metadata.uid });
      });
    }
    await api.patch(`${INFRASTRUCTURE}/prod/status`, { status: { ready: true } });
    await eventually(async () => {
      const { status } = await api.get(`${CLUSTER}/prod`);
      expect(status?.initialization).to.deep.include({ infrastructureProvisioned: true });
    });

    await api.delete(`${CLUSTER}/prod`);
    await eventually(async () => (await api.get(`${CONTROL_PLANE}/prod`)).metadata.deletionTimestamp !== undefined);
    await api.patch(`${CONTROL_PLANE}/prod`, { metadata: { finalizers: [FOREIGN_FINALIZER] } });
    await eventually(async () => {
      const deleting = (await api.get(`${CLUSTER}/prod`)).status?.conditions?.find(({ type }) => type === 'Deleting');
      expect(deleting).to.include({
        status: 'True',
        message: 'Waiting for AWSManagedControlPlane to be deleted',
      });
    });
    expect(await api.exists(`${INFRASTRUCTURE}/prod`)).to.equal(true);

    await api.patch(`${CONTROL_PLANE}/prod`, { metadata: { finalizers: null } });
    for (const path of [CONTROL_PLANE, INFRASTRUCTURE, CLUSTER]) {
      await eventually(async () => !(await api.exists(`${path}/prod`)), {
        what: `${path}/prod being gone`,
      });
    }
  });
});
