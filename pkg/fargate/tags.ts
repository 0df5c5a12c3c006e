import { createHash } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import type { ClusterName } from '../../api/names.ts';

export type Tags = Readonly<Record<string, string>>;

/** The key of the tag of a Fargate profile whose value names the AWSFargateProfile: `<namespace>/<name>`. */
export const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
/**
 * The key of the tag of an IAM role whose value is the ARN of the EKS cluster. IAM is global, so this tag prevents that
 * two clusters of the same name in different regions share a role.
 */
export const EKS_CLUSTER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
/**
 * The key of the tag of an IAM role whose value is the namespace of the AWSFargateProfiles. This tag prevents that a
 * control plane in another namespace that names the same EKS cluster gets the role.
 */
export const NAMESPACE_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace';
/**
 * The prefix of the tag key that Cluster API Provider AWS sets on profiles and roles. The rest of the tag key is the
 * name of the Cluster.
 */
export const CLUSTER_TAG_PREFIX = 'kubernetes.io/cluster/';
export const OWNED = 'owned';

/** The limits for tags, which EKS and IAM have in common. */
const MAX_TAGS = 50;
const MAX_KEY_CHARACTERS = 128;
const MAX_VALUE_CHARACTERS = 256;
const RESERVED_PREFIX = 'aws:';
/** The characters that IAM and EKS allow in the keys and values of tags. */
const ALLOWED = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

export function clusterTag(cluster: ClusterName): string {
  return CLUSTER_TAG_PREFIX + cluster;
}

/**
 * Returns the value of the owner tag: `<namespace>/<name>`. If this text is longer than the 256 characters of a tag
 * value, the value is `<namespace>/sha256-<the first 40 hexadecimal digits of the hash of this text>`.
 */
export function ownerTagValue(object: { readonly namespace: string; readonly name: string }): string {
  const plain = `${object.namespace}/${object.name}`;
  if (!isLongerThan(MAX_VALUE_CHARACTERS, plain)) {
    return plain;
  }
  const digest = createHash('sha256').update(plain, 'utf8').digest('hex').slice(0, 40);
  return `${object.namespace}/sha256-${digest}`;
}

/** The error for tags that AWS would reject. Each problem is a clause for the message of a condition. */
export interface TagsInvalid {
  readonly kind: 'TagsInvalid';
  readonly problems: readonly string[];
}

export interface TagSources {
  /** The name of the Cluster; undefined: Cluster API does not manage the EKS cluster, so no tag names a Cluster. */
  readonly clusterName: ClusterName | undefined;
  /** The `spec.additionalTags` of the AWSFargateProfile. */
  readonly object: Tags;
  /** The `spec.additionalTags` of the control plane. */
  readonly controlPlane: Tags;
}

/** Returns all tags that a Fargate profile must have. */
export function profileTags(
  owner: { readonly namespace: string; readonly name: string },
  sources: TagSources,
): E.Either<TagsInvalid, Tags> {
  return mergeTags({ [OWNER_TAG]: ownerTagValue(owner), ...clusterTags(sources) }, sources, keepCase);
}

/** Returns all tags that an IAM role must have. IAM treats keys that differ only in case as the same key. */
export function roleTags(
  { eksClusterArn, namespace }: { readonly eksClusterArn: string; readonly namespace: string },
  sources: TagSources,
): E.Either<TagsInvalid, Tags> {
  const ours = { ...roleOwnershipTags({ eksClusterArn, namespace }), ...clusterTags(sources) };
  return mergeTags(ours, sources, foldCase);
}

const clusterTags = ({ clusterName }: TagSources): Tags =>
  clusterName === undefined ? {} : { [clusterTag(clusterName)]: OWNED };

/** The tags that make an IAM role belong to this controller. */
export const roleOwnershipTags = ({
  eksClusterArn,
  namespace,
}: {
  readonly eksClusterArn: string;
  readonly namespace: string;
}): Tags => ({ [EKS_CLUSTER_TAG]: eksClusterArn, [NAMESPACE_TAG]: namespace });

/** Normalizes a tag key, so that keys can be compared as EKS or IAM compares them. */
export type KeyFold = (key: string) => string;
/** Normalizes tag keys for EKS, whose tag keys are case-sensitive. */
export const keepCase: KeyFold = (key) => key;
/** Normalizes tag keys for IAM, whose tag keys are case-insensitive. */
export const foldCase: KeyFold = (key) => key.toLowerCase();

export interface TagDrift {
  /** The tags to set: the AWS resource does not have these tags yet, or has them with other values. */
  readonly set: Tags;
  /** The keys of the tags to remove, spelled as in AWS. */
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

/** Returns the value of the tag with this key. Two keys are equal if `fold` returns the same text for both. */
export function tagValue(tags: Tags, key: string, fold: KeyFold): string | undefined {
  return Object.entries(tags).find(([candidate]) => fold(candidate) === fold(key))?.[1];
}

interface SourcedTag {
  readonly key: string;
  readonly value: string;
  readonly source: string;
}

function mergeTags(ours: Tags, sources: TagSources, fold: KeyFold): E.Either<TagsInvalid, Tags> {
  const merged = new Map<string, SourcedTag>();
  const add = (tags: Tags, source: string): void => {
    for (const [key, value] of sortedEntries(tags)) {
      if (!merged.has(fold(key))) {
        merged.set(fold(key), { key, value, source });
      }
    }
  };
  add(ours, 'this controller');
  add(sources.object, 'the AWSFargateProfile');
  add(sources.controlPlane, 'the control plane');

  const all = [...merged.values()];
  const problems = all.flatMap(validateTag);
  if (all.length > MAX_TAGS) {
    const own = Object.keys(ours).length;
    problems.push(
      `there are ${all.length} tags (${own} of them from this controller), but AWS allows only ${MAX_TAGS}`,
    );
  }
  return problems.length > 0
    ? E.left({ kind: 'TagsInvalid', problems })
    : E.right(Object.fromEntries(sortedEntries(Object.fromEntries(all.map(({ key, value }) => [key, value])))));
}

function validateTag({ key, value, source }: SourcedTag): readonly string[] {
  const isValid =
    key !== '' &&
    !isLongerThan(MAX_KEY_CHARACTERS, key) &&
    !isLongerThan(MAX_VALUE_CHARACTERS, value) &&
    !isReserved(key) &&
    ALLOWED.test(key) &&
    ALLOWED.test(value);
  return isValid ? [] : problemsOf({ key, value, source });
}

function problemsOf({ key, value, source }: SourcedTag): readonly string[] {
  const tag = `tag ${JSON.stringify(abbreviate(key))} of ${source}`;
  const problems: string[] = [];
  if (key === '') {
    problems.push(`a tag of ${source} has an empty key`);
  }
  if (isLongerThan(MAX_KEY_CHARACTERS, key)) {
    problems.push(`${tag}: the key has ${countCharacters(key)} characters, but AWS allows only ${MAX_KEY_CHARACTERS}`);
  }
  if (isLongerThan(MAX_VALUE_CHARACTERS, value)) {
    problems.push(
      `${tag}: the value has ${countCharacters(value)} characters, but AWS allows only ${MAX_VALUE_CHARACTERS}`,
    );
  }
  if (isReserved(key)) {
    problems.push(`${tag}: AWS reserves keys that begin with "${RESERVED_PREFIX}"`);
  }
  for (const [part, text] of [
    ['key', key],
    ['value', value],
  ] as const) {
    if (!ALLOWED.test(text)) {
      problems.push(`${tag}: the ${part} may contain only letters, digits, spaces and _ . : / = + - @`);
    }
  }
  return problems;
}

const isReserved = (key: string): boolean => key.toLowerCase().startsWith(RESERVED_PREFIX);

/** Counts the code points of a text, as AWS counts the characters of tags. */
const countCharacters = (text: string): number => [...text].length;

/** Whether a text has more than `most` code points. A text has at least as many UTF-16 code units, its `length`. */
const isLongerThan = (most: number, text: string): boolean => text.length > most && countCharacters(text) > most;

const abbreviate = (key: string): string => (isLongerThan(64, key) ? `${[...key].slice(0, 61).join('')}...` : key);

const sortedEntries = (tags: Tags): (readonly [string, string])[] =>
  Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
