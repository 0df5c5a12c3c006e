import type { Ms } from '../../../pkg/env/clock.ts';
import type { Part } from '../observe.ts';
import type { KeeperRecord } from './record.ts';

const HOUR: Ms = 3_600_000;
/**
 * If another client undoes the changes of the CRD keeper {@link MOST_REVERTS} times within this time, the keeper stops.
 */
const WINDOW: Ms = 24 * HOUR;
export const MOST_REVERTS = 3;
/**
 * The CRD keeper restores the CRD and the webhook configurations one after the other. The objects that it restores
 * within this time after the first object belong to the same restoration.
 */
const ONE_RESTORATION: Ms = 5 * 60_000;

/**
 * Adds a restoration of `parts` to the record of the CRD keeper, before the CRD keeper restores them. If the last
 * recorded restoration is recent and contains none of `parts`, `parts` are added to that restoration instead. Returns
 * `undefined` if the record already has {@link MOST_REVERTS} restorations within {@link WINDOW}, all of which another
 * client has undone: then the CRD keeper must stop.
 */
export function addRestoration(record: KeeperRecord, parts: readonly Part[], now: Ms): KeeperRecord | undefined {
  const recent = record.restorations.filter(({ at }) => Math.abs(now - at) < WINDOW);
  const last = recent.at(-1);
  const isContinued =
    last !== undefined && Math.abs(now - last.at) < ONE_RESTORATION && !parts.some((part) => last.parts.includes(part));
  if (isContinued)
    return { ...record, restorations: [...recent.slice(0, -1), { ...last, parts: [...last.parts, ...parts] }] };
  if (recent.length >= MOST_REVERTS) return undefined;
  return { ...record, restorations: [...recent, { at: now, parts }] };
}
