import { fieldAt } from '../../api/record.ts';
import type { Store } from '../../pkg/kube/cache/store.ts';
import { parseKeyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import type { Placement } from '../../pkg/runtime/queue/workqueue.ts';
import type { Caches } from '../shared/caches.ts';
import { clusterOf, controlPlaneOf } from '../shared/caches.ts';

/**
 * The place of an AWSFargateProfile among the other work: its Cluster, its place in the queue of the EKS cluster, and the
 * region and identity with which a pass calls AWS. The control plane names region and identity; where it is gone, status
 * does. Fields are read without decoding, because this function runs at each watch event.
 */
export function placementOf(
  { profiles, clusters, controlPlanes }: Pick<Caches, 'profiles' | 'clusters' | 'controlPlanes'>,
  key: ObjectKey,
): Placement {
  const object = find(profiles, key);
  if (object === undefined) return { cluster: '', order: '', region: '', identity: '' };
  const [cluster] = clusterOf(object);
  const controlPlane = find(controlPlanes, findReference(find(clusters, parse(cluster))));
  const target = controlPlane?.['spec'] ?? object['status'];
  return { cluster: cluster ?? '', order: orderInCluster(object), ...backendOf(target) };
}

/** Sorts the profiles of one EKS cluster as its queue does: deletions first, then older objects, then by name. */
export const orderInCluster = ({ metadata }: KubeObject): string =>
  [metadata.deletionTimestamp === undefined ? 1 : 0, metadata.creationTimestamp ?? '', metadata.name].join(' ');

function backendOf(target: unknown): Pick<Placement, 'region' | 'identity'> {
  const identityRef = fieldAt(target, 'identityRef');
  return {
    region: textOf(fieldAt(target, 'region')),
    identity: [fieldAt(identityRef, 'kind'), fieldAt(identityRef, 'name')].map(textOf).join('/'),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const parse = (key: string | undefined): ObjectKey | undefined => (key === undefined ? undefined : parseKeyText(key));

const findReference = (cluster: KubeObject | undefined): ObjectKey | undefined =>
  parse(cluster === undefined ? undefined : controlPlaneOf(cluster)[0]);

function find(store: Store, key: ObjectKey | undefined): KubeObject | undefined {
  const lookup = key === undefined ? undefined : store.lookup(key);
  return lookup?.kind === 'found' ? lookup.object : undefined;
}
