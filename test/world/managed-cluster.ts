import type { ClusterStatus } from '../aws/model/state.ts';
import { eventually } from '../support/eventually.ts';
import type { World } from './world.ts';
import { ACCOUNT, REGION } from './world.ts';

export interface ManagedClusterOptions {
  readonly namespace?: string;
  /** What EKS says of the cluster; default ACTIVE. */
  readonly eksStatus?: ClusterStatus;
  /** Where the EKS cluster is; default the account of the world. */
  readonly account?: string;
  readonly identityRef?: { readonly kind: string; readonly name: string };
  /** Does what Cluster API's core manager would, where that does not run. */
  readonly asCoreManager?: boolean;
}

/** The objects of one Cluster, and what it is called in EKS. */
export interface ManagedCluster {
  readonly name: string;
  readonly namespace: string;
  readonly eksName: string;
  readonly clusterPath: string;
  readonly controlPlanePath: string;
  readonly infrastructurePath: string;
}

/**
 * A Cluster as users write one for Cluster API Provider AWS: with its AWSManagedControlPlane, its AWSManagedCluster and the
 * EKS cluster in AWS. Resolves when Cluster API's core manager has made it the owner of both.
 */
export async function createManagedCluster(
  world: World,
  name: string,
  { namespace = 'default', eksStatus = 'ACTIVE', asCoreManager = false, ...where }: ManagedClusterOptions = {},
): Promise<ManagedCluster> {
  const { api } = world.controlPlane;
  const cluster = managedCluster(name, namespace);
  const { account = ACCOUNT, identityRef } = where;
  const { subnets } = world.aws.admin.createCluster({ name: cluster.eksName, status: eksStatus, account });
  await world.apply(
    {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'AWSManagedControlPlane',
      metadata: { name: `${name}-control-plane`, namespace },
      spec: {
        eksClusterName: cluster.eksName,
        region: REGION,
        version: 'v1.34',
        ...(identityRef && { identityRef }),
        network: {
          subnets: subnets.map(({ id, isPublic, availabilityZone }, index) => ({
            id: `${name}-subnet-${index}`,
            resourceID: id,
            isPublic,
            availabilityZone,
          })),
        },
      },
    },
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
  if (asCoreManager) await playCoreManager(world, cluster);
  for (const path of [cluster.controlPlanePath, cluster.infrastructurePath]) {
    await eventually(
      async () => (await api.get(path)).metadata.ownerReferences?.some(({ kind }) => kind === 'Cluster') === true,
      { what: `an owner of ${path}`, timeoutMs: 30_000 },
    );
  }
  return cluster;
}

/** What Cluster API's core manager does to a Cluster: it owns its parts, and says that all is provisioned. */
export async function playCoreManager(
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

export function managedCluster(name: string, namespace = 'default'): ManagedCluster {
  const within = `namespaces/${namespace}`;
  return {
    name,
    namespace,
    eksName: `${namespace}_${name}-control-plane`,
    clusterPath: `/apis/cluster.x-k8s.io/v1beta2/${within}/clusters/${name}`,
    controlPlanePath: `/apis/controlplane.cluster.x-k8s.io/v1beta2/${within}/awsmanagedcontrolplanes/${name}-control-plane`,
    infrastructurePath: `/apis/infrastructure.cluster.x-k8s.io/v1beta2/${within}/awsmanagedclusters/${name}`,
  };
}
