import type { ObjectKey } from './types.ts';

/** Formats the key of an object as `default/x`, or as `x` for a cluster-scoped object. */
export const keyText = ({ namespace, name }: ObjectKey): string => (namespace === '' ? name : `${namespace}/${name}`);

/** Parses the text that {@link keyText} returns. */
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
