import type { Ms } from '../../../pkg/env/clock.ts';
import type { Part } from '../observe.ts';
import type { KeeperRecord } from './record.ts';

const HOUR: Ms = 3_600_000;
/**
 * If another client undoes the restorations of the CRD keeper {@link MOST_REVERTS} times within this time, the keeper
 * stops.
 */
const WINDOW: Ms = 24 * HOUR;
export const MOST_REVERTS = 3;

/**
 * Adds `parts` to the record of the CRD keeper, before the CRD keeper restores them. Another client has reverted the
 * last restoration if that one has restored one of `parts`: only then a new restoration begins. Otherwise the last
 * restoration goes on, however often the API server fails meanwhile. Returns `undefined` if another client has reverted
 * {@link MOST_REVERTS} restorations within {@link WINDOW}: then the CRD keeper must stop.
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
