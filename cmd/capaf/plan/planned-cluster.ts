import { once } from 'node:events';
import {
  keyOf,
  keyText,
  type KubeClient,
  type KubeList,
  type KubeObject,
  type ObjectKey,
  type Resource,
} from 'controller-runtime/client';
import { applyMergePatch } from 'controller-runtime/json';

export type PlannedCluster = ReturnType<typeof plannedCluster>;

/**
 * Simulates the API server after the controller's writes. A patch or deletion stays in memory. The reconciler does not
 * make other writes here, and the connection refuses them.
 */
export function plannedCluster(live: KubeClient) {
  const planned = new Map<string, KubeObject>();
  const lists = new Map<string, KubeList>();
  /** Higher than every real resourceVersion, so that a list never appears to be newer than a planned object. */
  let version = 10n ** 18n;
  const idOf = ({ group, plural }: Resource, key: ObjectKey): string => `${group}/${plural} ${keyText(key)}`;
  function put(resource: Resource, object: KubeObject): KubeObject {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++version) } };
    planned.set(idOf(resource, keyOf(object)), stored);
    return stored;
  }
  /** The plan assumes that nothing else changes, so each object and each list is read once. */
  const get: KubeClient['get'] = async (resource, key, options) => {
    const id = idOf(resource, key);
    const object = planned.get(id) ?? (await live.get(resource, key, options));
    if (object !== undefined) planned.set(id, object);
    return object;
  };
  const client: KubeClient = {
    ...live,
    get,
    list: async (resource, { signal, ...selection }) => {
      const id = JSON.stringify([resource, selection]);
      const list = lists.get(id) ?? (await live.list(resource, { ...selection, signal }));
      lists.set(id, list);
      return { ...list, items: list.items.map((item) => planned.get(idOf(resource, keyOf(item))) ?? item) };
    },
    // eslint-disable-next-line eslint/require-yield -- it only waits
    async *watch(_resource, { signal }) {
      if (!signal.aborted) await once(signal, 'abort');
    },
    mergePatch: async (resource, key, patch, options) => {
      const before = await get(resource, key, options);
      if (before === undefined) throw new Error(`the plan patches ${keyText(key)}, which does not exist`);
      // eslint-disable-next-line typescript/no-unsafe-type-assertion -- a patch of the controller keeps the metadata
      return put(resource, applyMergePatch(before, patch) as KubeObject);
    },
    /** The controller deletes an AWSFargateProfile whose cluster is being deleted. */
    delete: async (resource, key, options) => {
      const before = await get(resource, key, options);
      const deletionTimestamp = '1970-01-01T00:00:00Z';
      return before && put(resource, { ...before, metadata: { ...before.metadata, deletionTimestamp } });
    },
  };
  return { ...client, put };
}
