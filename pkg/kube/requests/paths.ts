import type { ObjectKey, Resource } from '../types.ts';

/**
 * The name of a kind as in CRD names and in messages of the API server, e.g.
 * `awsfargateprofiles.infrastructure.cluster.x-k8s.io`.
 */
export const resourceName = ({ group, plural }: Resource): string => (group === '' ? plural : `${plural}.${group}`);

/** The URL path of the objects of a kind. The namespace `''` means all namespaces, or a cluster-scoped kind. */
export function collectionPath({ group, version, plural }: Resource, namespace: string): string {
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === '' ? `${base}/${plural}` : `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function objectPath(resource: Resource, { namespace, name }: ObjectKey, subresource?: string): string {
  const path = `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Formats a URL query, e.g. `?a=1&b=2`. Leaves out the parameters that are undefined. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? '' : `?${search.toString()}`;
}
