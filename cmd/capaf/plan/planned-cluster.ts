import { once } from 'node:events';
import { isRecord } from '../../../api/record.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import type { KubeClient, KubeObject, ObjectKey, Resource } from '../../../pkg/kube/types.ts';

/**
 * The API server as it would be after the writes of the controller. Reads go to the real one; a write stays in memory.
 */
export class PlannedCluster implements KubeClient {
  private readonly live: KubeClient;
  private readonly planned = new Map<string, KubeObject>();
  /** Higher than each real resourceVersion, so that no list is newer. */
  private version = 10n ** 18n;

  constructor(live: KubeClient) {
    this.live = live;
  }

  /** Shows the object as if it had been applied. */
  put(resource: Resource, object: KubeObject): KubeObject {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.version) } };
    this.planned.set(idOf(resource, keyOf(object)), stored);
    return stored;
  }

  readonly get: KubeClient['get'] = async (resource, key, options) =>
    this.planned.get(idOf(resource, key)) ?? this.live.get(resource, key, options);

  readonly list: KubeClient['list'] = async (resource, options) => {
    const list = await this.live.list(resource, options);
    return { ...list, items: list.items.map((item) => this.planned.get(idOf(resource, keyOf(item))) ?? item) };
  };

  /** Nothing changes while a plan is made. */
  readonly watch: KubeClient['watch'] = (_resource, { signal }) => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        if (!signal.aborted) await once(signal, 'abort');
        return { done: true, value: undefined };
      },
    }),
  });

  readonly mergePatch: KubeClient['mergePatch'] = async (resource, key, patch, options) => {
    const before = await this.get(resource, key, options);
    if (before === undefined) throw new Error(`the plan patches ${keyText(key)}, which does not exist`);
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- a patch of the controller keeps the metadata
    return this.put(resource, applyMergePatch(before, patch) as KubeObject);
  };

  readonly discover: KubeClient['discover'] = (path, options) => this.live.discover(path, options);
  readonly review: KubeClient['review'] = (resource, object, options) => this.live.review(resource, object, options);
  readonly create: KubeClient['create'] = async () => refuse('creates an object');
  readonly jsonPatch: KubeClient['jsonPatch'] = async () => refuse('sends a JSON patch');
  readonly apply: KubeClient['apply'] = async () => refuse('applies an object');
  /** The controller deletes an AWSFargateProfile whose cluster is being deleted. */
  readonly delete: KubeClient['delete'] = async (resource, key, options) => {
    const before = await this.get(resource, key, options);
    const deletionTimestamp = '1970-01-01T00:00:00Z';
    return before && this.put(resource, { ...before, metadata: { ...before.metadata, deletionTimestamp } });
  };
}

const refuse = (what: string): never => {
  throw new Error(`a pass ${what}, which a plan does not know`);
};

const idOf = ({ group, plural }: Resource, key: ObjectKey): string => `${group}/${plural} ${keyText(key)}`;

/** RFC 7386. The patches are those of the controller, which are never deep. */
function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch))
    if (value === null) delete result[field];
    else result[field] = applyMergePatch(result[field], value);
  return result;
}
