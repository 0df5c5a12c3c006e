import type { Ms } from 'controller-runtime/env';
import type { ClusterView } from '../../aws/admin/views.ts';
import type { SimulatedWorld } from './simulated-world.ts';

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60_000;
export const HOUR: Ms = 60 * MINUTE;

export const ACCOUNT = '123456789012';
export const NAMESPACE = 'default';
export const CLUSTER = 'prod';
export const EKS_CLUSTER = 'default_prod-control-plane';

export const CONTROL_PLANE_REF = {
  apiGroup: 'controlplane.cluster.x-k8s.io',
  kind: 'AWSManagedControlPlane',
  name: `${CLUSTER}-control-plane`,
};

/**
 * Creates an EKS cluster in the AWS emulator, unless it is given, and a Cluster with a ready control plane in the fake
 * API server.
 */
export function createCluster(
  world: Pick<SimulatedWorld, 'aws' | 'create' | 'patch'>,
  eksCluster?: Pick<ClusterView, 'subnets'>,
): void {
  const { subnets } = eksCluster ?? world.aws.admin.createCluster({ name: EKS_CLUSTER });
  world.create('clusters', { metadata: { name: CLUSTER }, spec: { controlPlaneRef: CONTROL_PLANE_REF } });
  createControlPlane(world, CONTROL_PLANE_REF.name, { name: EKS_CLUSTER, subnets });
}

/** Creates a ready control plane of {@link CLUSTER} in the fake API server. */
export function createControlPlane(
  world: Pick<SimulatedWorld, 'create' | 'patch'>,
  name: string,
  eksCluster: Pick<ClusterView, 'name' | 'subnets'>,
): void {
  world.create('awsmanagedcontrolplanes', controlPlaneOf(CLUSTER, name, { ...eksCluster, region: 'us-east-1' }));
  world.patch('awsmanagedcontrolplanes', name, { status: { ready: true } }, 'status');
}

/** Returns the control plane that Cluster API Provider AWS writes for a Cluster and its EKS cluster. */
export const controlPlaneOf = (
  cluster: string,
  name: string,
  eksCluster: Pick<ClusterView, 'name' | 'region' | 'subnets'>,
) => ({
  metadata: { name, labels: { 'cluster.x-k8s.io/cluster-name': cluster } },
  spec: {
    eksClusterName: eksCluster.name,
    region: eksCluster.region,
    network: {
      subnets: eksCluster.subnets.map(({ id, isPublic, availabilityZone }, index) => ({
        id: `${cluster}-subnet-${index}`,
        resourceID: id,
        isPublic,
        availabilityZone,
      })),
    },
  },
});
