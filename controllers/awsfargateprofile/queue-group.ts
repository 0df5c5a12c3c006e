import { fieldAt } from '../../api/record.ts';
import type { Store } from '../../pkg/kube/cache/store.ts';
import { parseKeyText } from '../../pkg/kube/object-key.ts';
import type { KubeObject, ObjectKey } from '../../pkg/kube/types.ts';
import { type Caches, clusterOf, controlPlaneOf } from '../shared/caches.ts';

/**
 * Region and identity of the AWS calls of an object, without decoding it, because this function runs at each watch
 * event.
 */
export function groupOf(
  { profiles, clusters, controlPlanes }: Pick<Caches, 'profiles' | 'clusters' | 'controlPlanes'>,
  key: ObjectKey,
): string {
  const object = find(profiles, key);
  if (object === undefined) return '';
  const [cluster] = clusterOf(object);
  const controlPlane = find(controlPlanes, findReference(find(clusters, parse(cluster))));
  const named = controlPlane?.['spec'] ?? fieldAt(object['spec'], 'eksCluster') ?? object['status'];
  return [regionOf(named) || regionOf(object['status']), identityOf(named)].join(' ');
}

const regionOf = (target: unknown): string => textOf(fieldAt(target, 'region'));

const identityOf = (target: unknown): string => {
  const identityRef = fieldAt(target, 'identityRef');
  return [fieldAt(identityRef, 'kind'), fieldAt(identityRef, 'name')].map(textOf).join('/');
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const parse = (key: string | undefined): ObjectKey | undefined => (key === undefined ? undefined : parseKeyText(key));

const findReference = (cluster: KubeObject | undefined): ObjectKey | undefined =>
  parse(cluster === undefined ? undefined : controlPlaneOf(cluster)[0]);

function find(store: Store, key: ObjectKey | undefined): KubeObject | undefined {
  const lookup = key === undefined ? undefined : store.lookup(key);
  return lookup?.kind === 'found' ? lookup.object : undefined;
}
