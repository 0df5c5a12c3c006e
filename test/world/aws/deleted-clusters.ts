import type { Emulator } from '../../aws/emulator.ts';
import type { ClusterView } from '../../aws/admin/views.ts';
import type { ApiClient } from '../../envtest/clients/api.ts';

/** An EKS cluster, with the paths of its Cluster and its AWSManagedControlPlane in the API server. */
export interface EksClusterOfTest {
  readonly eksCluster: ClusterView;
  readonly paths: readonly string[];
}

/**
 * Removes each EKS cluster that still has access entries, and whose Cluster or AWSManagedControlPlane is being deleted
 * or gone, as Cluster API Provider AWS does. EKS then removes the access entries too. An EKS cluster with Fargate
 * profiles stays, because EKS refuses to delete it.
 */
export async function removeEksClustersOfDeletedClusters(
  api: Pick<ApiClient, 'request'>,
  { admin }: Emulator,
  clusters: readonly EksClusterOfTest[],
): Promise<void> {
  const users = [...admin.profiles(), ...admin.accessEntries().filter(({ foreign }) => !foreign)];
  for (const { eksCluster, paths } of clusters) {
    const { name, region, account } = eksCluster;
    const used = users.filter((each) => each.cluster === name && each.region === region && each.account === account);
    const hasOnlyEntries = used.length > 0 && used.every((each) => 'principalArn' in each);
    if (!hasOnlyEntries) continue;
    const found = await Promise.all(paths.map((path) => api.request('GET', path)));
    const isLeaving = found.some(({ status, body }) => status === 404 || isBeingDeleted(body));
    if (isLeaving) admin.removeCluster({ name, region, account });
  }
}

const isBeingDeleted = (body: unknown): boolean =>
  (body as { readonly metadata: { readonly deletionTimestamp?: string } }).metadata.deletionTimestamp !== undefined;
