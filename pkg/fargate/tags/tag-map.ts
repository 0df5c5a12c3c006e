/** The tags of a resource in AWS: values by key. */
export type Tags = Readonly<Record<string, string>>;

/** Normalizes a tag key, so that keys can be compared as EKS or IAM compares them. */
export type KeyFold = (key: string) => string;
/** Normalizes tag keys for EKS, whose tag keys are case-sensitive. */
export const keepCase: KeyFold = (key) => key;
/** Normalizes tag keys for IAM, whose tag keys are case-insensitive. */
export const foldCase: KeyFold = (key) => key.toLowerCase();

/** Returns the value of the tag with this key. Two keys are equal if `fold` returns the same text for both. */
export function tagValue(tags: Tags, key: string, fold: KeyFold): string | undefined {
  return Object.entries(tags).find(([candidate]) => fold(candidate) === fold(key))?.[1];
}

export const sortedEntries = (tags: Tags): (readonly [string, string])[] =>
  Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

export const hasNoTags = (tags: Tags): boolean => Object.keys(tags).length === 0;
