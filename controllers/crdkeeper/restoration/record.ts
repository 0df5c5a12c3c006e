import * as E from 'fp-ts/lib/Either.js';
import { integer, list, object, optional, string } from '../../../api/schema/field.ts';
import { decode } from '../../../api/schema/problem.ts';
import type { Ms } from '../../../pkg/env/clock.ts';

/** One restoration: the CRD keeper has restored the CRD or webhook configurations that another client had replaced. */
export interface Restoration {
  /** The wall-clock time at which the CRD keeper last began to restore a part, in ms since 1970. */
  readonly at: Ms;
  /** The parts that the CRD keeper has restored. Only these parts can be reverted by another client. */
  readonly parts: readonly string[];
  /**
   * The parts whose restoration has begun. It may have failed: after an error without an answer, or a crash of the
   * manager, only the API server knows.
   */
  readonly begun?: readonly string[];
  /**
   * The fields that the API server dropped from objects, because the CRD of another provider lacked these fields.
   * Absent once the objects that lost these fields are listed in `lost`.
   */
  readonly dropped?: readonly string[];
  /** The AWSFargateProfiles that lost fields, each as `namespace/name: fields`. */
  readonly lost?: readonly string[];
}

/**
 * The end of the CRD keeper's work, because another client has undone the keeper's changes as often as revert-limit.ts
 * allows.
 */
export interface Stop {
  readonly at: Ms;
  /** The clients that replaced the CRD or the webhooks: the names of field managers in metadata.managedFields. */
  readonly writers: readonly string[];
}

/** The record of the CRD keeper's changes, which it needs after a restart of the manager. */
export interface KeeperRecord {
  readonly restorations: readonly Restoration[];
  readonly stopped?: Stop;
}

export const EMPTY_RECORD: KeeperRecord = { restorations: [] };

const RECORD = object({
  restorations: list(
    object({
      at: integer({ format: 'int64' }),
      parts: list(string()),
      begun: optional(list(string())),
      dropped: optional(list(string())),
      lost: optional(list(string())),
    }),
  ),
  stopped: optional(object({ at: integer({ format: 'int64' }), writers: list(string()) })),
});

/** Reads a record of the CRD keeper from JSON; `undefined` if the text is no such record. */
export function parseRecord(text: string): KeeperRecord | undefined {
  try {
    const decoded = decode<KeeperRecord>(RECORD, JSON.parse(text));
    return E.isRight(decoded) ? decoded.right : undefined;
  } catch {
    return undefined;
  }
}

export const formatRecord = (record: KeeperRecord): string => JSON.stringify(record);

/**
 * Returns the fields that the API server dropped before the last restoration; `undefined` if there are none, or if the
 * record already lists the objects that lost these fields.
 */
export const unlistedFields = ({ restorations }: KeeperRecord): readonly string[] | undefined =>
  restorations.at(-1)?.dropped;

/**
 * Moves the begun parts that `isRestored` accepts to the restored parts of the last restoration. Returns the same record
 * if there are none.
 */
export function withRestored(record: KeeperRecord, isRestored: (part: string) => boolean): KeeperRecord {
  const restored = record.restorations.at(-1)?.begun?.filter(isRestored) ?? [];
  return restored.length === 0
    ? record
    : withLast(record, ({ begun = [], ...last }) => {
        const left = begun.filter((part) => !restored.includes(part));
        return { ...last, parts: [...last.parts, ...restored], ...(left.length > 0 && { begun: left }) };
      });
}

/** Adds to the last restoration the fields that the API server dropped under the CRD of another provider. */
export const withDropped = (record: KeeperRecord, dropped: readonly string[]): KeeperRecord =>
  withLast(record, (last) => ({ ...last, dropped }));

/**
 * Replaces the dropped fields in the last restoration by the objects that lost them, so that the CRD keeper reports
 * these objects only once.
 */
export const replaceDroppedByLost = (record: KeeperRecord, lost: readonly string[]): KeeperRecord =>
  withLast(record, ({ dropped: _listed, ...last }) => ({ ...last, lost }));

function withLast(record: KeeperRecord, change: (last: Restoration) => Restoration): KeeperRecord {
  const last = record.restorations.at(-1);
  return last === undefined ? record : { ...record, restorations: [...record.restorations.slice(0, -1), change(last)] };
}
