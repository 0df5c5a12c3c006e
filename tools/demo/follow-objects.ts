import type { ApiClient, RawObject } from '../../test/envtest/clients/api.ts';

/**
 * Lists and watches the objects at a path until `signal` is aborted. Calls `learn` with the name and each new version
 * of an object, and with only the name when the object is gone.
 */
export async function followObjects(
  api: ApiClient,
  path: string,
  signal: AbortSignal,
  learn: (name: string, object?: RawObject) => void,
): Promise<void> {
  let known: ReadonlySet<string> = new Set();
  while (!signal.aborted) {
    const { items, metadata } = await api.list(path);
    const listed = new Set(items.map((item) => item.metadata.name));
    for (const name of known) if (!listed.has(name)) learn(name);
    for (const item of items) learn(item.metadata.name, item);
    known = listed;
    for await (const { type, object } of api.watch(path, { resourceVersion: metadata.resourceVersion }, signal)) {
      if (type === 'ERROR') break;
      const { name } = object.metadata;
      learn(name, type === 'DELETED' ? undefined : object);
      known = new Set([...known, name]);
    }
  }
}
