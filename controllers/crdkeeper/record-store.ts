import { textAt } from '../../api/record.ts';
import type { KubeClient, ObjectKey, Resource } from '../../pkg/kube/types.ts';
import type { KeeperRecord } from './record.ts';
import { EMPTY_RECORD, formatRecord, parseRecord } from './record.ts';

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps' };
/** The field manager of every write of the keeper. */
export const FIELD_MANAGER = 'capaf-crd-keeper';
/** The name of the ConfigMap with the record. An operator deletes it to make a stopped keeper go on. */
export const RECORD_NAME = 'capaf-crd-keeper';
const DATA_KEY = 'record.json';

/**
 * Keeps the record in a ConfigMap of the manager's namespace. The CRD itself is no place for it, because a client that
 * replaces the CRD as a whole would remove it.
 */
export class RecordStore {
  readonly key: ObjectKey;
  private readonly client: KubeClient;

  constructor(client: KubeClient, namespace: string) {
    this.client = client;
    this.key = { namespace, name: RECORD_NAME };
  }

  /** Returns `undefined` if the ConfigMap has another content than the keeper writes. */
  async read(signal: AbortSignal): Promise<KeeperRecord | undefined> {
    const found = await this.client.get(CONFIG_MAPS, this.key, { signal });
    const text = textAt(found?.['data'], DATA_KEY);
    return text === undefined ? EMPTY_RECORD : parseRecord(text);
  }

  async write(record: KeeperRecord, signal: AbortSignal): Promise<void> {
    const { namespace, name } = this.key;
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name },
      data: { [DATA_KEY]: formatRecord(record) },
    };
    await this.client.apply(CONFIG_MAPS, this.key, configMap, { fieldManager: FIELD_MANAGER, signal });
  }
}
