import { isRight } from 'fp-ts/lib/Either.js';
import { CLUSTER_KIND, decodeCluster } from '../../api/external/index.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeClient, ObjectKey, Resource } from '../../pkg/kube/types.ts';
import { PROFILES } from './live-profiles.ts';
import { hasPausedAnnotation, isMoving, isRetained } from './object-state.ts';

/**
 * Returns why nothing may now be deleted for the object, in the API server or in AWS; `undefined` if deletions are
 * allowed. The API server is asked for the object and its Cluster, because the caches may not show a new pause yet.
 *
 * `clusters` is the version in which the API server serves Clusters; `undefined` if it does not serve them. `cluster`
 * is the Cluster of the object; `undefined` if it has none.
 */
export async function findLiveBlocker(
  client: KubeClient,
  clusters: Resource | undefined,
  object: AWSFargateProfile,
  cluster: ObjectKey | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [now, found] = await Promise.all([
    client.get(PROFILES, keyOf(object), { signal }),
    clusters && cluster && client.get(clusters, cluster, { signal }),
  ]);
  if (now === undefined || now.metadata.uid !== object.metadata.uid) return 'the object is gone';
  if (isMoving(now)) return 'the object is being moved away';
  if (hasPausedAnnotation(now)) return 'the object is paused';
  if (now.metadata.generation !== object.metadata.generation) return 'the object has changed';
  // The live object has the same generation as the given object, so the spec is unchanged. Only the retain annotation
  // may have changed.
  if (
    isRetained({ ...object, metadata: { ...now.metadata, namespace: object.metadata.namespace } }) !==
    isRetained(object)
  )
    return 'the object has changed';
  if (cluster === undefined) return undefined;
  if (clusters === undefined) return `${CLUSTER_KIND} objects cannot be read`;
  if (found === undefined) return undefined;
  const decoded = decodeCluster(found);
  if (!isRight(decoded)) return 'the Cluster cannot be read';
  if (isMoving(decoded.right)) return 'the Cluster is being moved away';
  return decoded.right.paused ? 'the Cluster is paused' : undefined;
}
