import * as E from 'fp-ts/lib/Either.js';
import type { KubeClient, ObjectKey, Resource } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import { textAt, tryJson } from 'controller-runtime/json';
import { integer, list, object, optional, string, type TypeOf } from 'controller-runtime/schema';
import { FIELD_MANAGER, type Part } from './parts.ts';

/** Another client had replaced the CRD or webhook configurations, and the CRD keeper has restored them. */
const Restoration = object({
  /** The wall-clock time of the last attempt to restore a part, in ms since 1970. */
  at: integer({ format: 'int64' }),
  /** The restored parts. Only these can be reverted by another client. */
  parts: list(string()),
  /** Parts whose restoration has begun, and may have succeeded: only the API server shows whether it has. */
  begun: optional(list(string())),
  /** The fields dropped under another provider's CRD, until `lost` lists the objects that lost them. */
  dropped: optional(list(string())),
  /** The objects that lost fields, each as `namespace/name: fields`. */
  lost: optional(list(string())),
});
interface Restoration extends TypeOf<typeof Restoration> {}

/** The CRD keeper's own changes, which it has to know after a restart of the manager. */
const KeeperRecord = object({
  restorations: list(Restoration),
  /** Set after {@link MOST_REVERTS} reverts. `writers` are names of field managers in metadata.managedFields. */
  stopped: optional(object({ at: integer({ format: 'int64' }), writers: list(string()) })),
});
export interface KeeperRecord extends TypeOf<typeof KeeperRecord> {}

export const EMPTY_RECORD: KeeperRecord = { restorations: [] };

/** Returns `undefined` if the API server dropped no fields, or the record already lists the objects that lost them. */
export const unlistedFields = ({ restorations }: KeeperRecord): readonly string[] | undefined =>
  restorations.at(-1)?.dropped;

/** Moves the begun parts that `isRestored` accepts to the restored parts. Returns the same record if there are none. */
export function withRestored(record: KeeperRecord, isRestored: (part: string) => boolean): KeeperRecord {
  const restored = record.restorations.at(-1)?.begun?.filter(isRestored) ?? [];
  return restored.length === 0
    ? record
    : withLast(record, ({ begun = [], ...last }) => {
        const left = begun.filter((part) => !restored.includes(part));
        return { ...last, parts: [...last.parts, ...restored], ...(left.length > 0 && { begun: left }) };
      });
}

export const withDropped = (record: KeeperRecord, dropped: readonly string[]): KeeperRecord =>
  withLast(record, (last) => ({ ...last, dropped }));

/** Replaces the dropped fields by the objects that lost them, so that the keeper reports these only once. */
export const replaceDroppedByLost = (record: KeeperRecord, lost: readonly string[]): KeeperRecord =>
  withLast(record, ({ dropped: _listed, ...last }) => ({ ...last, lost }));

function withLast(record: KeeperRecord, change: (last: Restoration) => Restoration): KeeperRecord {
  const last = record.restorations.at(-1);
  return last === undefined ? record : { ...record, restorations: [...record.restorations.slice(0, -1), change(last)] };
}

const HOUR: Ms = 3_600_000;
/** If another client reverts {@link MOST_REVERTS} restorations within this time, the keeper stops. */
const WINDOW: Ms = 24 * HOUR;
export const MOST_REVERTS = 3;

/**
 * Adds `parts` before they are restored. If the last restoration restored one of these parts, another client has
 * reverted the part, so a new restoration begins. Otherwise the last restoration continues, however often the API
 * server fails. Returns `undefined` after {@link MOST_REVERTS} reverts within {@link WINDOW}: the keeper must stop.
 */
export function addRestoration(record: KeeperRecord, parts: readonly Part[], now: Ms): KeeperRecord | undefined {
  const recent = record.restorations.filter(({ at }) => Math.abs(now - at) < WINDOW);
  const last = recent.at(-1);
  if (last !== undefined && !parts.some((part) => last.parts.includes(part))) {
    const begun = [...new Set([...(last.begun ?? []), ...parts])];
    return { ...record, restorations: [...recent.slice(0, -1), { ...last, at: now, begun }] };
  }
  if (recent.length >= MOST_REVERTS) return undefined;
  const dropped = last?.dropped;
  return {
    ...record,
    restorations: [...recent, { at: now, parts: [], begun: parts, ...(dropped !== undefined && { dropped }) }],
  };
}

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps' };
/** If an operator deletes this ConfigMap, a stopped keeper continues. */
const RECORD_NAME = 'capaf-crd-keeper';
const DATA_KEY = 'record.json';

/** The record is not stored in the CRD itself, because a client that replaces the whole CRD would remove it. */
export class RecordStore {
  readonly key: ObjectKey;
  private readonly client: KubeClient;

  constructor(client: KubeClient, namespace: string) {
    this.client = client;
    this.key = { namespace, name: RECORD_NAME };
  }

  /** Returns `undefined` if the ConfigMap does not contain a valid record. */
  async read(signal: AbortSignal): Promise<KeeperRecord | undefined> {
    const found = await this.client.get(CONFIG_MAPS, this.key, { signal });
    const text = textAt(found?.['data'], DATA_KEY);
    if (text === undefined) return EMPTY_RECORD;
    const decoded = KeeperRecord.decode(tryJson(text));
    return E.isRight(decoded) ? decoded.right : undefined;
  }

  async write(record: KeeperRecord, signal: AbortSignal): Promise<void> {
    const { namespace, name } = this.key;
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name },
      data: { [DATA_KEY]: JSON.stringify(record) },
    };
    await this.client.apply(CONFIG_MAPS, this.key, configMap, { fieldManager: FIELD_MANAGER, signal });
  }
}
