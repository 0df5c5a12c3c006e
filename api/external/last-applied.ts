import { getOrElse, tryCatch } from 'fp-ts/lib/Option.js';
import { fieldAt, isRecord, textAt } from '../record.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Restores fields with the value `null`, at any depth, in the items of a list in the spec. A client-side `kubectl apply`
 * drops such fields from the Kubernetes object, but keeps them in its annotation `last-applied-configuration`. If an
 * item differs from the annotation in any other field, another client has changed the item since then, and the item
 * stays as it is.
 */
export function withEmptyFields(
  object: unknown,
  path: readonly string[],
  list: readonly unknown[],
): readonly unknown[] {
  const text = textAt(fieldAt(fieldAt(object, 'metadata'), 'annotations'), LAST_APPLIED);
  // If the annotation `last-applied-configuration` is invalid JSON, or nested too deeply to be compared, the list of
  // the spec is returned unchanged.
  return text?.includes('null') !== true
    ? list
    : getOrElse(() => list)(tryCatch(() => restore(list, valueAt(JSON.parse(text), path))));
}

const valueAt = (value: unknown, path: readonly string[]): unknown => path.reduce(fieldAt, value);

function restore(list: readonly unknown[], applied: unknown): readonly unknown[] {
  if (!Array.isArray(applied) || applied.length !== list.length) return list;
  return list.map((item, index) => {
    const before: unknown = applied[index];
    return isRecord(item) && isRecord(before) && canonical(item) === canonical(before) ? before : item;
  });
}

/** Serializes a value to JSON with sorted fields and without the fields `null`. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, field]) => field !== null)
            .toSorted(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  );
