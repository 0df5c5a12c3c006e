import { isRecord } from '../../api/record.ts';
import type { UnknownRecord } from '../../api/record.ts';

// Of JSON values: a field that is `undefined` counts as not there.

/** Equality of JSON values, whatever the order of their fields. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]));
  if (!isRecord(a) || !isRecord(b)) return a === b;
  return fieldsOf(a, b).every((field) => jsonEqual(a[field], b[field]));
}

/**
 * The JSON merge patch (RFC 7386) that turns `before` into `after`, or `undefined` when there is nothing to change. Lists
 * are replaced whole. `null` in `after` means "not there", since no merge patch can write a null.
 */
export function diffMergePatch(before: UnknownRecord, after: UnknownRecord): UnknownRecord | undefined {
  const patch: Record<string, unknown> = {};
  for (const field of fieldsOf(before, after)) {
    const from = before[field] ?? undefined;
    const to = after[field] ?? undefined;
    if (to === undefined) {
      if (from !== undefined) patch[field] = null;
    } else if (isRecord(from) && isRecord(to)) {
      const inner = diffMergePatch(from, to);
      if (inner !== undefined) patch[field] = inner;
    } else if (isRecord(to)) {
      // Nulls within would remove what is not there, but an object without fields is a value of its own.
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
