import { GROUP, PLURAL, VERSION, type AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { isRight } from 'fp-ts/lib/Either.js';
import {
  isConflict,
  keyOf,
  type KubeClient,
  type KubeObject,
  listPages,
  type ObjectKey,
  type Resource,
} from 'controller-runtime/client';
import { CLUSTER_KIND, decodeCluster } from '../../api/external/index.ts';
import { hasPausedAnnotation, isMoving, isRetained } from './object-state.ts';

export const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces' };
export const PROFILES: Resource = { group: GROUP, version: VERSION, plural: PLURAL };

/**
 * Small pages save memory when many deletions list objects at the same time: an object has about 4 KB of JSON, so a
 * page of 500 objects briefly takes 10 MiB. A page of 100 takes 3 MiB more than a page of 50.
 */
export const PAGE_SIZE = 50;

/** Asks the API server, so the list includes other managers' objects. Without a namespace, lists all namespaces. */
export const listLiveProfiles = (
  client: KubeClient,
  scope: { readonly namespace?: string; readonly labelSelector?: string },
  signal: AbortSignal,
): AsyncGenerator<KubeObject> => listPages(client, PROFILES, { ...scope, limit: PAGE_SIZE }, signal);

/** Does nothing if the object is gone or a different object has its name. */
export async function deleteProfileObject(
  client: KubeClient,
  { metadata }: { readonly metadata: KubeObject['metadata'] },
  signal: AbortSignal,
): Promise<void> {
  await client.delete(PROFILES, keyOf({ metadata }), { uid: metadata.uid, signal }).catch((error: unknown) => {
    if (!isConflict(error)) throw error;
  });
}

/**
 * Returns why nothing may be deleted for the object now, in the API server or in AWS. Asks the API server, because the
 * caches may not show a new pause yet. `clusters` is undefined while the API server does not serve Clusters.
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
  // A change of the retain annotation does not change the generation.
  const metadata = { ...now.metadata, namespace: object.metadata.namespace };
  if (isRetained({ ...object, metadata }) !== isRetained(object)) return 'the object has changed';
  if (cluster === undefined) return undefined;
  if (clusters === undefined) return `${CLUSTER_KIND} objects cannot be read`;
  if (found === undefined) return undefined;
  const decoded = decodeCluster(found);
  if (!isRight(decoded)) return 'the Cluster cannot be read';
  if (isMoving(decoded.right)) return 'the Cluster is being moved away';
  return decoded.right.paused ? 'the Cluster is paused' : undefined;
}
