import type { WantedTags } from './added-record.ts';
import { isAdded, isRecordKey, recordTags, tagAddition } from './added-record.ts';
import { isReserved } from './tag-limits.ts';
import type { KeyFold, Tags } from './tag-map.ts';
import { hasNoTags, sortedEntries } from './tag-map.ts';

export interface TagDrift {
  /** The tags to set: the AWS resource does not have these tags yet, or has them with other values. */
  readonly set: Tags;
  /** The keys of the tags to remove, with upper and lower case as in AWS. */
  readonly remove: readonly string[];
}

/** A Fargate profile or IAM role in AWS. `additions` are its policies and its boundary, in the words of the record. */
export interface Tagged {
  readonly tags: Tags;
  readonly additions?: readonly string[];
}

/**
 * Returns the changes that make `found` have the wanted tags, and the tags that record the additions. Removes only those
 * keys of `ownKeys` of which the tags record that this controller has set them; the tags of users and of AWS stay.
 */
export function tagDrift(
  wanted: WantedTags,
  { tags: found, additions = [] }: Tagged,
  ownKeys: readonly string[],
  fold: KeyFold,
): TagDrift {
  const own = new Set(ownKeys.map(fold));
  const wantedKeys = new Set(Object.keys(wanted.tags).map(fold));
  const isSurplus = (key: string): boolean =>
    own.has(fold(key)) && !wantedKeys.has(fold(key)) && !isReserved(key) && isAdded(found, tagAddition(key, fold));
  const surplus = Object.keys(found).filter(isSurplus);
  const recordWith = (keys: readonly string[]): Tags =>
    recordTags(wanted, found, [...additions, ...keys.map((key) => tagAddition(key, fold))]);
  // The record loses an entry after the tag itself, so that a crash in between leaves no tag without a record. But the
  // whole record can go together with the last tag.
  const record = recordWith(Object.keys(found));
  const isRecordOver = hasNoTags(recordWith(Object.keys(found).filter((key) => !isSurplus(key))));
  const surplusRecord = Object.keys(found).filter((key) => isRecordKey(key) && (isRecordOver || !(key in record)));
  const foundValues = new Map(Object.entries(found).map(([key, value]) => [fold(key), value]));
  const all = { ...wanted.tags, ...record };
  return {
    set: Object.fromEntries(sortedEntries(all).filter(([key, value]) => foundValues.get(fold(key)) !== value)),
    remove: [...surplus, ...surplusRecord].toSorted(),
  };
}
