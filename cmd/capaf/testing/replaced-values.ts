import { isRecord } from 'controller-runtime/json';
import { type Path, valueAt } from '../documents.ts';

/** Returns the paths of all values inside of a value. */
export const placesIn = (value: unknown, path: Path = []): readonly Path[] => [
  path,
  ...(Array.isArray(value) || isRecord(value)
    ? Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))
    : []),
];

export const textsIn = (value: unknown): readonly Path[] =>
  placesIn(value).filter((path) => typeof valueAt(value, path) === 'string');

/** Returns a copy of `value` with `other` at the path. */
export function replaced(value: unknown, path: Path, other: unknown): unknown {
  const copy = structuredClone(value);
  const parent = valueAt(copy, path.slice(0, -1));
  if (!isRecord(parent) && !Array.isArray(parent)) return other;
  Object.assign(parent, { [String(path.at(-1))]: other });
  return copy;
}
