import type { ClusterStatus } from '../../aws/model/resources.ts';
import { eventually } from '../../support/eventually.ts';
import { clusterPath, controlPlaneObject, controlPlanePath, networkOf } from '../manifests.ts';
import { type World, REGION } from '../world.ts';

export interface ManagedClusterOptions {
  readonly namespace?: string;
  /** The status of the EKS cluster in AWS; default: `ACTIVE`. */
  readonly eksStatus?: ClusterStatus;
  /**
   * Whether `createManagedCluster` also writes the fields that the core manager of Cluster API would write. True in
   * tests that do not run the core manager.
   */
  readonly simulatesCoreManager?: boolean;
}

/** A Cluster with the paths of its objects in the API server, and with the name of its EKS cluster. */
export interface ManagedCluster {
  readonly name: string;
  readonly namespace: string;
  readonly eksName: string;
  readonly clusterPath: string;
  readonly controlPlanePath: string;
  readonly infrastructurePath: string;
}

/**
 * Creates a Cluster, its AWSManagedControlPlane, its AWSManagedCluster, and the EKS cluster in AWS. Waits until the
 * AWSManagedControlPlane and the AWSManagedCluster have the Cluster as owner, which the core manager of Cluster API
 * sets.
 */
export async function createManagedCluster(
  world: World,
  name: string,
  { namespace = 'default', eksStatus = 'ACTIVE', simulatesCoreManager = false }: ManagedClusterOptions,
): Promise<ManagedCluster> {
  const { api } = world.controlPlane;
  const cluster = managedCluster(name, namespace);
  const { subnets } = world.aws.admin.createCluster({ name: cluster.eksName, status: eksStatus });
  await world.apply(
    controlPlaneObject(
      name,
      {
        eksClusterName: cluster.eksName,
        region: REGION,
        version: 'v1.34',
        network: networkOf(name, subnets),
      },
      { namespace },
    ),
    {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedCluster',
      metadata: { name, namespace },
      spec: { controlPlaneEndpoint: { host: '127.0.0.1', port: 1 } },
    },
    {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name, namespace },
      spec: {
        controlPlaneRef: {
          apiGroup: 'controlplane.cluster.x-k8s.io',
          kind: 'AWSManagedControlPlane',
          name: `${name}-control-plane`,
        },
        infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'AWSManagedCluster', name },
      },
    },
  );
  await api.patch(`${cluster.infrastructurePath}/status`, { status: { ready: true } });
  if (simulatesCoreManager) await simulateCoreManager(world, cluster);
  for (const path of [cluster.controlPlanePath, cluster.infrastructurePath]) {
    await eventually(
      async () => (await api.get(path)).metadata.ownerReferences?.some(({ kind }) => kind === 'Cluster') === true,
      { what: `the owner reference of ${path}` },
    );
  }
  return cluster;
}

/**
 * Does the work of Cluster API's core manager for a Cluster: sets the owner references and labels of its
 * AWSManagedControlPlane and AWSManagedCluster, and reports the Cluster as initialized in its status.
 */
export async function simulateCoreManager(
  { controlPlane: { api } }: Pick<World, 'controlPlane'>,
  cluster: ManagedCluster,
): Promise<void> {
  const { apiVersion, kind, metadata } = await api.get(cluster.clusterPath);
  const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }];
  const labels = { 'cluster.x-k8s.io/cluster-name': cluster.name };
  for (const path of [cluster.controlPlanePath, cluster.infrastructurePath]) {
    await api.patch(path, { metadata: { ownerReferences, labels } });
  }
  const initialized = { type: 'ControlPlaneInitialized', status: 'True', reason: 'Initialized', message: '' };
  await api.patch(`${cluster.clusterPath}/status`, {
    status: {
      initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true },
      conditions: [{ ...initialized, lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  });
}

/** Returns the names and paths that a Cluster and its objects would have. Creates nothing. */
export function managedCluster(name: string, namespace = 'default'): ManagedCluster {
  return {
    name,
    namespace,
    eksName: `${namespace}_${name}-control-plane`,
    clusterPath: clusterPath(name, namespace),
    controlPlanePath: controlPlanePath(name, namespace),
    infrastructurePath: `/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/${namespace}/awsmanagedclusters/${name}`,
  };
}
