import { createHash } from 'node:crypto';
import { ADDED_TAG } from './tag-keys.ts';
import { MAX_TAGS, MAX_VALUE_CHARACTERS } from './tag-limits.ts';
import type { KeyFold, Tags } from './tag-map.ts';

// While an object exists, the controller removes only tags, policies and boundaries that it has put on a Fargate profile
// or IAM role itself. Status proves nothing about that: a client that may write status could name there what others have
// put on the profile or role. So the profile or role itself records, in its tags, the digests of these additions.

/**
 * The length of a digest in characters of base64url, 72 bits. A user chooses the texts that are recorded, so no user may
 * be able to find a text with the digest of a given other text.
 */
const DIGEST_CHARACTERS = 12;
const DIGESTS_PER_TAG = Math.floor(MAX_VALUE_CHARACTERS / DIGEST_CHARACTERS);

/** The tags that a Fargate profile or IAM role must have, and its additions: what the controller may later remove. */
export interface WantedTags {
  readonly tags: Tags;
  readonly additions: readonly string[];
}

export const tagAddition = (key: string, fold: KeyFold): string => `tag ${fold(key)}`;
export const policyAddition = (arn: string): string => `policy ${arn}`;
export const boundaryAddition = (arn: string): string => `boundary ${arn}`;

export const isRecordKey = (key: string): boolean => key.startsWith(ADDED_TAG);

/** Whether the tags of a Fargate profile or IAM role record that the controller has made this addition. */
export const isAdded = (tags: Tags, addition: string): boolean => recordedDigests(tags).has(digestOf(addition));

/** Returns all tags with which a Fargate profile or IAM role is created. */
export const tagsToCreate = (wanted: WantedTags): Tags => ({ ...wanted.tags, ...recordTags(wanted, {}, []) });

/**
 * Returns the tags that record the wanted additions, and those of the present additions that the tags `found` record.
 * AWS allows 50 tags. Additions for which there is no room are not recorded, so the controller does not remove them.
 */
export function recordTags({ tags, additions }: WantedTags, found: Tags, present: readonly string[]): Tags {
  const recorded = recordedDigests(found);
  const kept = recorded.size === 0 ? [] : present.map(digestOf).filter((digest) => recorded.has(digest));
  const digests = [...new Set([...additions.map(digestOf), ...kept])].toSorted();
  const others = new Set([...Object.keys(tags), ...Object.keys(found)].filter((key) => !isRecordKey(key)));
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

const recordedDigests = (tags: Tags): ReadonlySet<string> =>
  new Set(
    Object.entries(tags)
      .filter(([key]) => isRecordKey(key))
      .flatMap(([, value]) => value.match(/.{12}/g) ?? []),
  );
