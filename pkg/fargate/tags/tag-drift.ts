import { isReserved } from './tag-limits.ts';
import type { KeyFold, Tags } from './tag-map.ts';
import { sortedEntries } from './tag-map.ts';

export interface TagDrift {
  /** The tags to set: the AWS resource does not have these tags yet, or has them with other values. */
  readonly set: Tags;
  /** The keys of the tags to remove, with upper and lower case as in AWS. */
  readonly remove: readonly string[];
}

/**
 * Returns the changes that make the tags `found` contain the tags `wanted`. Removes only keys of `ownedKeys`, which
 * this controller has set before; the tags of users and of AWS stay.
 */
export function tagDrift(wanted: Tags, found: Tags, ownedKeys: readonly string[], fold: KeyFold): TagDrift {
  const wantedKeys = new Set(Object.keys(wanted).map(fold));
  const owned = new Set(ownedKeys.map(fold));
  const foundValues = new Map(Object.entries(found).map(([key, value]) => [fold(key), value]));
  return {
    set: Object.fromEntries(sortedEntries(wanted).filter(([key, value]) => foundValues.get(fold(key)) !== value)),
    remove: Object.keys(found)
      .filter((key) => owned.has(fold(key)) && !wantedKeys.has(fold(key)) && !isReserved(key))
      .toSorted(),
  };
}
