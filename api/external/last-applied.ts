import { getOrElse, tryCatch } from 'fp-ts/lib/Option.js';
import { fieldAt, isRecord, textAt } from '../record.ts';
import type { UnknownRecord } from '../record.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * A list of objects in the spec, with the fields that a client-side `kubectl apply` has dropped because they have no
 * value. The annotation of `kubectl apply` still has these fields. An object that differs in another field from the
 * object in the annotation stays as it is: another client has changed it since.
 */
export function withEmptyFields(group: unknown, path: readonly string[], list: readonly unknown[]): readonly unknown[] {
  const text = textAt(fieldAt(fieldAt(group, 'metadata'), 'annotations'), LAST_APPLIED);
  // The annotation may be no JSON, or nested too deeply to be compared.
  return text === undefined
    ? list
    : getOrElse(() => list)(tryCatch(() => restore(list, valueAt(JSON.parse(text), path))));
}

const valueAt = (value: unknown, path: readonly string[]): unknown => path.reduce(fieldAt, value);

function restore(list: readonly unknown[], applied: unknown): readonly unknown[] {
  if (!Array.isArray(applied) || applied.length !== list.length) return list;
  return list.map((item, index) => {
    const before: unknown = applied[index];
    return isRecord(item) && isRecord(before) && isWithoutEmptyFields(item, before) ? before : item;
  });
}

const isWithoutEmptyFields = (item: UnknownRecord, before: UnknownRecord): boolean =>
  canonical(item) === canonical(Object.fromEntries(Object.entries(before).filter(([, value]) => value !== null)));

/** A text that is the same for equal values, whatever the order of their fields is. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
