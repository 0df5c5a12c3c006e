import { isRecord } from '../../api/record.ts';
import type { UnknownRecord } from '../../api/record.ts';

// The functions of this file are for JSON values. A field with the value `undefined` counts as absent.

/**
 * Whether two JSON values are equal. The order of fields does not matter. The code uses a loop and no recursion: the
 * API server accepts fields that are nested more deeply than the stack allows a recursion.
 */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const unvisited: (readonly [unknown, unknown])[] = [[a, b]];
  for (let pair = unvisited.pop(); pair !== undefined; pair = unvisited.pop()) {
    const [one, other] = pair;
    if (one === other) continue;
    if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
      for (const [index, item] of one.entries()) unvisited.push([item, other[index]]);
    } else if (isRecord(one) && isRecord(other)) {
      for (const field of fieldsOf(one, other)) unvisited.push([one[field], other[field]]);
    } else return false;
  }
  return true;
}

/**
 * The JSON merge patch (RFC 7386) that turns `before` into `after`; `undefined` when they are equal. A list is replaced
 * as a whole. `null` in `after` counts as absent, because a merge patch cannot write a null.
 *
 * The function recurses only into objects of `after` that are not the same JavaScript objects in `before`. The
 * controller changes only fields that its types declare, so the recursion is never deep.
 */
export function diffMergePatch(before: UnknownRecord, after: UnknownRecord): UnknownRecord | undefined {
  const patch: Record<string, unknown> = {};
  for (const field of fieldsOf(before, after)) {
    const from = before[field] ?? undefined;
    const to = after[field] ?? undefined;
    if (from === to) continue;
    if (to === undefined) {
      patch[field] = null;
    } else if (isRecord(from) && isRecord(to)) {
      const inner = diffMergePatch(from, to);
      if (inner !== undefined) patch[field] = inner;
    } else if (isRecord(to)) {
      // `after` has an object where `before` has none. The merge patch contains that object without its nulls, even if
      // no field is left.
      patch[field] = diffMergePatch({}, to) ?? {};
    } else if (!jsonEqual(from, to)) {
      patch[field] = to;
    }
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

const fieldsOf = (a: UnknownRecord, b: UnknownRecord): readonly string[] => [
  ...new Set([...Object.keys(a), ...Object.keys(b)]),
];
