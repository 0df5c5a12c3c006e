import type { ObjectKey, Resource } from './types.ts';

/** `awsfargateprofiles.infrastructure.cluster.x-k8s.io`, as the API server's own messages and CRD names have it. */
export const resourceName = ({ group, plural }: Resource): string => (group === '' ? plural : `${plural}.${group}`);

/** `default/x`, or `x` for an object without namespace. */
export const keyText = ({ namespace, name }: ObjectKey): string => (namespace === '' ? name : `${namespace}/${name}`);

/** The inverse of {@link keyText}. */
export function parseKeyText(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

export const keyOf = ({
  metadata,
}: {
  readonly metadata: { readonly namespace?: string; readonly name: string };
}): ObjectKey => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

/** The path of a collection; `namespace` `''` means all namespaces, or a kind without them. */
export function collectionPath({ group, version, plural }: Resource, namespace: string): string {
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === '' ? `${base}/${plural}` : `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function objectPath(resource: Resource, { namespace, name }: ObjectKey, subresource?: string): string {
  const path = `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `?a=1&b=2`, without the parameters that are undefined. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? '' : `?${search.toString()}`;
}
