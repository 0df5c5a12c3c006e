import { fieldAt, isRecord, type UnknownRecord } from './record.ts';

// These functions are for JSON values. A field with the value `undefined` counts as absent. A function that visits
// whole objects uses a loop instead of recursion, because the API server accepts fields that are nested so deeply that
// a recursion would overflow the stack.

export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const unvisited: (readonly [unknown, unknown])[] = [[a, b]];
  for (let pair = unvisited.pop(); pair !== undefined; pair = unvisited.pop()) {
    const [one, other] = pair;
    if (one === other) continue;
    if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
      for (const [index, item] of one.entries()) unvisited.push([item, other[index]]);
    } else if (isRecord(one) && isRecord(other)) {
      for (const field of fieldsOf(one, other)) unvisited.push([fieldAt(one, field), fieldAt(other, field)]);
    } else return false;
  }
  return true;
}

/** Freezes `value` and all values inside it. */
export function deepFreeze<A>(value: A): A {
  const unvisited: unknown[] = [value];
  while (unvisited.length > 0) {
    const next = unvisited.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const inner of Object.values(next)) if (typeof inner === 'object') unvisited.push(inner);
  }
  return value;
}

/**
 * Returns the JSON merge patch (RFC 7386) that turns `before` into `after`; `undefined` if they are equal. `null` in
 * `after` counts as absent, because a merge patch cannot write a null. The recursion is never deep: it skips objects
 * that are the same JavaScript objects in both, and a controller changes only fields that its types declare.
 */
export function diffMergePatch(before: UnknownRecord, after: UnknownRecord): UnknownRecord | undefined {
  const patch = new Map<string, unknown>();
  for (const field of fieldsOf(before, after)) {
    const from = fieldAt(before, field) ?? undefined;
    const to = fieldAt(after, field) ?? undefined;
    if (from === to) continue;
    if (to === undefined) {
      patch.set(field, null);
    } else if (isRecord(from) && isRecord(to)) {
      const inner = diffMergePatch(from, to);
      if (inner !== undefined) patch.set(field, inner);
    } else if (isRecord(to)) {
      // The patch contains a new object without its nulls, even if it has no other fields.
      patch.set(field, diffMergePatch({}, to) ?? {});
    } else if (!jsonEqual(from, to)) {
      patch.set(field, to);
    }
  }
  return patch.size === 0 ? undefined : Object.fromEntries(patch);
}

/** Applies a patch by RFC 7386 §2. The recursion is as deep as the patch. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result = new Map(isRecord(target) ? Object.entries(target) : []);
  for (const [field, value] of Object.entries(patch)) {
    if (value === null || value === undefined) result.delete(field);
    else result.set(field, applyMergePatch(result.get(field), value));
  }
  return Object.fromEntries(result);
}

const fieldsOf = (a: UnknownRecord, b: UnknownRecord): readonly string[] => [
  ...new Set([...Object.keys(a), ...Object.keys(b)]),
];
