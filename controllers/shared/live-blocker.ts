import { isRight } from 'fp-ts/lib/Either.js';
import { CLUSTER_KIND, decodeCluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeClient, Resource } from '../../pkg/kube/types.ts';
import { PROFILES } from './live-profiles.ts';
import { hasPausedAnnotation, isMoving } from './object-state.ts';

/**
 * Why nothing may be deleted for the object now, in the API server or in AWS; `undefined` if it may be deleted. The API
 * server is asked for the object and its Cluster, because the caches may not show a new pause yet. `clusters` is the version
 * in which the API server serves Clusters; `undefined` if it serves none.
 */
export async function findLiveBlocker(
  client: KubeClient,
  clusters: Resource | undefined,
  object: AWSFargateProfile,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { clusterName } = object.spec;
  const key = clusterName && { namespace: object.metadata.namespace, name: clusterName };
  const [now, cluster] = await Promise.all([
    client.get(PROFILES, keyOf(object), { signal }),
    clusters && key && client.get(clusters, key, { signal }),
  ]);
  if (now === undefined || now.metadata.uid !== object.metadata.uid) return 'the object is gone';
  if (isMoving(now)) return 'the object is being moved away';
  if (hasPausedAnnotation(now)) return 'the object is paused';
  if (now.metadata.generation !== object.metadata.generation) return 'the object has changed';
  if (key === undefined) return undefined;
  if (clusters === undefined) return `${CLUSTER_KIND} objects cannot be read`;
  if (cluster === undefined) return undefined;
  const decoded = decodeCluster(cluster);
  if (!isRight(decoded)) return 'the Cluster cannot be read';
  if (isMoving(decoded.right)) return 'the Cluster is being moved away';
  return decoded.right.paused ? 'the Cluster is paused' : undefined;
}
