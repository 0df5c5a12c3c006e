import { MAX_TAGS, MAX_TAG_VALUE } from '../../../api/v1beta2/index.ts';
import { isReserved } from './tag-limits.ts';
import { type KeyFold, type Tags, hasNoTags, sortedEntries, ADDED_TAG } from './tag-keys.ts';
import { createHash } from 'node:crypto';

interface TagDrift {
  /** Tags that are missing from the AWS resource, or have different values there. */
  readonly set: Tags;
  /** The keys of tags to remove, with upper and lower case as in AWS. */
  readonly remove: readonly string[];
}

/** `additions` are the resource's policies and its boundary, as texts such as `policy <ARN>` (see `policyAddition`). */
export interface Tagged {
  readonly tags: Tags;
  readonly additions?: readonly string[];
}

/**
 * Compares a resource's tags with the desired ones. `set` includes the bookkeeping tags (ADDED_TAG), which contain
 * digests of what this controller has added. Apart from these tags, `remove` contains only tags that this controller
 * has set, as the digests prove. So the controller keeps the tags of users and of AWS.
 */
export function tagDrift(desired: DesiredTags, { tags: found, additions = [] }: Tagged, fold: KeyFold): TagDrift {
  const desiredKeys = new Set([...Object.keys(desired.tags).map(fold), ...(desired.keysOfOthers ?? [])]);
  const isSurplus = (key: string): boolean =>
    !desiredKeys.has(fold(key)) && !isReserved(key) && isAdded(found, tagAddition(key, fold));
  const surplus = Object.keys(found).filter(isSurplus);
  const addedWith = (keys: readonly string[]): Tags =>
    addedTags(desired, found, [...additions, ...keys.map((key) => tagAddition(key, fold))]);
  // A digest is removed only after its tag, so that a crash in between does not leave a tag without a digest. But when
  // the last tag of this controller is removed, the bookkeeping tags can be removed together with it.
  const added = addedWith(Object.keys(found));
  const isNothingAdded = hasNoTags(addedWith(Object.keys(found).filter((key) => !isSurplus(key))));
  const isKept = (key: string): boolean => !isNothingAdded && Object.hasOwn(added, key);
  const surplusAdded = Object.keys(found).filter((key) => isAddedTagKey(key) && !isKept(key));
  const foundValues = new Map(Object.entries(found).map(([key, value]) => [fold(key), value]));
  const all = { ...desired.tags, ...added };
  return {
    set: Object.fromEntries(sortedEntries(all).filter(([key, value]) => foundValues.get(fold(key)) !== value)),
    remove: [...surplus, ...surplusAdded].toSorted(),
  };
}

export function tagsAfter({ set, remove }: TagDrift, found: Tags, fold: KeyFold): Tags {
  const replaced = new Set([...Object.keys(set).map(fold), ...remove.map(fold)]);
  return Object.fromEntries([
    ...Object.entries(found).filter(([key]) => !replaced.has(fold(key))),
    ...Object.entries(set),
  ]);
}

// While an object exists, the controller removes only what it has itself added to a Fargate profile or role. The status
// cannot prove what the controller has added, because a client could write another user's additions into the status. So
// the tags of the profile or role contain digests of the controller's additions.

/**
 * In characters of base64url, 72 bits in total: users choose the recorded texts, and must not be able to find a text
 * with the digest of a different one.
 */
const DIGEST_CHARACTERS = 12;
const DIGESTS_PER_TAG = Math.floor(MAX_TAG_VALUE / DIGEST_CHARACTERS);

/** `additions` are the tags, policies, and boundary that the controller may remove later, as texts like `tag team`. */
interface DesiredTags {
  readonly tags: Tags;
  readonly additions: readonly string[];
  /** The keys of tags that other objects want on the same role, as `fold` returns them. These tags are not removed. */
  readonly keysOfOthers?: readonly string[];
}

export const tagAddition = (key: string, fold: KeyFold): string => `tag ${fold(key)}`;
export const policyAddition = (arn: string): string => `policy ${arn}`;
export const boundaryAddition = (arn: string): string => `boundary ${arn}`;

export const isAddedTagKey = (key: string): boolean => key.startsWith(ADDED_TAG);

export const isAdded = (tags: Tags, addition: string): boolean => addedDigests(tags).has(digestOf(addition));

export const tagsToCreate = (desired: DesiredTags): Tags => ({ ...desired.tags, ...addedTags(desired, {}, []) });

/**
 * Returns the bookkeeping tags: they record the desired additions, and those `present` additions that `found` already
 * records. AWS allows 50 tags. Additions for which no tag is left are not recorded, so the controller does not remove
 * them later.
 */
export function addedTags({ tags, additions }: DesiredTags, found: Tags, present: readonly string[]): Tags {
  const recorded = addedDigests(found);
  const kept = recorded.size === 0 ? [] : present.map(digestOf).filter((digest) => recorded.has(digest));
  const digests = [...new Set([...additions.map(digestOf), ...kept])].toSorted();
  const others = new Set([...Object.keys(tags), ...Object.keys(found)].filter((key) => !isAddedTagKey(key)));
  const count = Math.min(Math.ceil(digests.length / DIGESTS_PER_TAG), Math.max(MAX_TAGS - others.size, 0));
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      index === 0 ? ADDED_TAG : `${ADDED_TAG}-${index + 1}`,
      digests.slice(index * DIGESTS_PER_TAG, (index + 1) * DIGESTS_PER_TAG).join(''),
    ]),
  );
}

const digestOf = (addition: string): string =>
  createHash('sha256').update(addition, 'utf8').digest('base64url').slice(0, DIGEST_CHARACTERS);

const addedDigests = (tags: Tags): ReadonlySet<string> =>
  new Set(
    Object.entries(tags)
      .filter(([key]) => isAddedTagKey(key))
      .flatMap(([, value]) => value.match(/.{12}/g) ?? []),
  );
