import type { ObjectKey, Resource } from '../types.ts';

/** Returns the name that CRDs and the API server's messages use, e.g. `clusters.cluster.x-k8s.io`. */
export const resourceName = ({ group, plural }: Omit<Resource, 'version'>): string =>
  group === '' ? plural : `${plural}.${group}`;

/** The namespace `''` means all namespaces, or a cluster-scoped kind. */
export function collectionPath({ group, version, plural }: Resource, namespace: string): string {
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === '' ? `${base}/${plural}` : `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function objectPath(resource: Resource, { namespace, name }: ObjectKey, subresource?: string): string {
  const path = `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Returns a text such as `?a=1&b=2`. Omits the undefined parameters. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? '' : `?${search.toString()}`;
}
