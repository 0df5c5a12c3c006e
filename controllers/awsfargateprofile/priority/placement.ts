import { fieldAt } from '../../../api/record.ts';
import type { Store } from '../../../pkg/kube/cache/store.ts';
import { parseKeyText } from '../../../pkg/kube/object-key.ts';
import type { KubeObject, ObjectKey } from '../../../pkg/kube/types.ts';
import type { Placement } from '../../../pkg/runtime/queue/workqueue.ts';
import type { Caches } from '../../shared/caches.ts';
import { clusterIndexOf, clusterOf, controlPlaneOf } from '../../shared/caches.ts';

/**
 * Returns the values by which the workqueue orders an AWSFargateProfile: its Cluster, its place in the queue of profile
 * changes of the EKS cluster, and the region and identity of its AWS calls. Region and identity come from the control
 * plane or from spec.eksCluster. If the control plane is gone, they come from status. If spec.eksCluster has no region,
 * the region comes from status. Fields are read without decoding the objects, because this function runs at each watch
 * event.
 */
export function placementOf(
  { profiles, clusters, controlPlanes }: Pick<Caches, 'profiles' | 'clusters' | 'controlPlanes'>,
  key: ObjectKey,
): Placement {
  const object = find(profiles, key);
  if (object === undefined) return { cluster: '', order: '', region: '', identity: '' };
  const place = clusterIndexOf(object);
  const [cluster] = clusterOf(object);
  const controlPlane = find(controlPlanes, findReference(find(clusters, parse(cluster))));
  const status = backendOf(object['status']);
  const named = backendOf(controlPlane?.['spec'] ?? fieldAt(object['spec'], 'eksCluster') ?? object['status']);
  return {
    cluster: cluster ?? (place === undefined ? '' : `${place.index} ${place.value}`),
    order: orderInCluster(object),
    region: named.region || status.region,
    identity: named.identity,
  };
}

/**
 * Returns a sort key that orders the AWSFargateProfiles of one EKS cluster as the queue of profile changes does:
 * deletions first, then older objects, then by name.
 */
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
