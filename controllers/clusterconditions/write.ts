import { CLUSTER_GROUP, CLUSTER_PLURAL } from '../../api/external/index.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, Resource } from '../../pkg/kube/types.ts';
import type { ClusterCondition } from './condition.ts';

/** The name under which `metadata.managedFields` of a Cluster records the condition of this controller. */
export const FIELD_MANAGER = 'capaf-cluster-conditions';

const CLUSTERS: Resource = { group: CLUSTER_GROUP, version: 'v1beta2', plural: CLUSTER_PLURAL };

/**
 * Writes the condition of this controller into the status of a Cluster, or removes the condition if `condition` is
 * undefined. Returns the Cluster as the API server has stored it.
 *
 * The conditions of a Cluster are a list with the key `type`. A server-side apply changes only the element of this
 * controller and needs no resourceVersion, so it never conflicts with the writes of Cluster API's core. The API server
 * removes the element only if no other field manager has set it. The request contains the uid, so the API server
 * rejects the write if a new Cluster has the same name.
 */
export async function writeCondition(
  client: Pick<KubeClient, 'apply'>,
  cluster: KubeObject,
  condition: ClusterCondition | undefined,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { apiVersion, kind } = cluster;
  const { namespace, name, uid } = cluster.metadata;
  const configuration = {
    apiVersion,
    kind,
    metadata: { namespace, name, uid },
    ...(condition !== undefined && { status: { conditions: [condition] } }),
  };
  const options = { subresource: 'status', fieldManager: FIELD_MANAGER, signal } as const;
  return client.apply(CLUSTERS, keyOf(cluster), configuration, options);
}
