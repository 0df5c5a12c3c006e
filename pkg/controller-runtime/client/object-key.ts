import type { ObjectKey } from './types.ts';

/** Returns `default/x`, or `x` for a cluster-scoped object. */
export const keyText = ({ namespace, name }: ObjectKey): string => (namespace === '' ? name : `${namespace}/${name}`);

export function parseKeyText(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

interface Named {
  readonly metadata: { readonly namespace?: string; readonly name: string };
}

export const keyOf = ({ metadata: { namespace = '', name } }: Named): ObjectKey => ({ namespace, name });
