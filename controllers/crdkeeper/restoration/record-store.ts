import { textAt } from '../../../api/record.ts';
import type { KubeClient, ObjectKey, Resource } from '../../../pkg/kube/types.ts';
import type { KeeperRecord } from './record.ts';
import { EMPTY_RECORD, formatRecord, parseRecord } from './record.ts';

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps' };
/** The field manager with which the CRD keeper applies the CRD and the ConfigMap. */
export const FIELD_MANAGER = 'capaf-crd-keeper';
/**
 * The name of the ConfigMap in which the CRD keeper records its changes. An operator who deletes this ConfigMap makes a
 * stopped CRD keeper continue.
 */
export const RECORD_NAME = 'capaf-crd-keeper';
const DATA_KEY = 'record.json';

/**
 * Reads and writes the record of the CRD keeper's changes in a ConfigMap of the manager's namespace. The record cannot
 * be on the CRD itself: a client that replaces the whole CRD would remove the record.
 */
export class RecordStore {
  readonly key: ObjectKey;
  private readonly client: KubeClient;

  constructor(client: KubeClient, namespace: string) {
    this.client = client;
    this.key = { namespace, name: RECORD_NAME };
  }

  /** Reads the record of the CRD keeper; `undefined` if the content of the ConfigMap is not such a record. */
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
