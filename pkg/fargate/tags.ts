import { createHash } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import type { ClusterName } from '../../api/names.ts';

export type Tags = Readonly<Record<string, string>>;

/** On a profile: the object it belongs to, `<namespace>/<name>`. */
export const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
/** On a role: the ARN of the EKS cluster it serves. IAM is global: two regions must not share a role by accident. */
export const EKS_CLUSTER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
/** Cluster API Provider AWS' tag, on profile and role alike; the Cluster's name follows. */
export const CLUSTER_TAG_PREFIX = 'kubernetes.io/cluster/';
export const OWNED = 'owned';

/** Limits of EKS and IAM alike. */
const MAX_TAGS = 50;
const MAX_KEY_CHARACTERS = 128;
const MAX_VALUE_CHARACTERS = 256;
const RESERVED_PREFIX = 'aws:';
/** What IAM's and EKS' tag models allow in keys and values. */
const ALLOWED = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

export function clusterTag(cluster: ClusterName): string {
  return CLUSTER_TAG_PREFIX + cluster;
}

/**
 * The owner tag's value for an object: `<namespace>/<name>`, or, where that exceeds the 256 characters of a tag,
 * `<namespace>/sha256-<40 hexadecimal digits>` of it.
 */
export function ownerTagValue(object: { readonly namespace: string; readonly name: string }): string {
  const plain = `${object.namespace}/${object.name}`;
  if (characters(plain) <= MAX_VALUE_CHARACTERS) {
    return plain;
  }
  const digest = createHash('sha256').update(plain, 'utf8').digest('hex').slice(0, 40);
  return `${object.namespace}/sha256-${digest}`;
}

/** The tags that AWS would refuse, all of them at once, each in words for a condition. */
export interface TagsInvalid {
  readonly kind: 'TagsInvalid';
  readonly problems: readonly string[];
}

export interface TagSources {
  readonly clusterName: ClusterName;
  /** `spec.additionalTags` of the object. */
  readonly object: Tags;
  /** `spec.additionalTags` of the control plane. */
  readonly controlPlane: Tags;
}

/** All tags of a profile; they go into the create call itself. */
export function profileTags(
  owner: { readonly namespace: string; readonly name: string },
  sources: TagSources,
): E.Either<TagsInvalid, Tags> {
  return merge({ [OWNER_TAG]: ownerTagValue(owner), [clusterTag(sources.clusterName)]: OWNED }, sources, exactly);
}

/** All tags of a role. IAM takes keys that differ in case alone for one key. */
export function roleTags(eksClusterArn: string, sources: TagSources): E.Either<TagsInvalid, Tags> {
  return merge({ [EKS_CLUSTER_TAG]: eksClusterArn, [clusterTag(sources.clusterName)]: OWNED }, sources, foldCase);
}

/** How a service compares tag keys. */
export type KeyFold = (key: string) => string;
/** EKS: two keys that differ in case are two keys. */
export const exactly: KeyFold = (key) => key;
/** IAM. */
export const foldCase: KeyFold = (key) => key.toLowerCase();

export interface TagDrift {
  /** To be set: missing, or of another value. */
  readonly set: Tags;
  /** To be removed, spelled as found. */
  readonly remove: readonly string[];
}

/**
 * What has to change so that `found` holds `wanted`. Only keys in `ownedKeys` (those this controller once set) are ever
 * removed; tags of other people and of AWS itself stay.
 */
export function tagDrift(wanted: Tags, found: Tags, ownedKeys: readonly string[], fold: KeyFold): TagDrift {
  const wantedKeys = new Set(Object.keys(wanted).map(fold));
  const owned = new Set(ownedKeys.map(fold));
  const foundValues = new Map(Object.entries(found).map(([key, value]) => [fold(key), value]));
  return {
    set: Object.fromEntries(sorted(wanted).filter(([key, value]) => foundValues.get(fold(key)) !== value)),
    remove: Object.keys(found)
      .filter((key) => owned.has(fold(key)) && !wantedKeys.has(fold(key)) && !isReserved(key))
      .toSorted(),
  };
}

/** A tag's value by its key as the service compares keys. */
export function tagValue(tags: Tags, key: string, fold: KeyFold): string | undefined {
  return Object.entries(tags).find(([candidate]) => fold(candidate) === fold(key))?.[1];
}

interface Sourced {
  readonly key: string;
  readonly value: string;
  readonly source: string;
}

function merge(ours: Tags, sources: TagSources, fold: KeyFold): E.Either<TagsInvalid, Tags> {
  const merged = new Map<string, Sourced>();
  const add = (tags: Tags, source: string): void => {
    for (const [key, value] of sorted(tags)) {
      if (!merged.has(fold(key))) {
        merged.set(fold(key), { key, value, source });
      }
    }
  };
  add(ours, 'this controller');
  add(sources.object, 'the AWSFargateProfile');
  add(sources.controlPlane, 'the control plane');

  const all = [...merged.values()];
  const problems = all.flatMap(problemsOf);
  if (all.length > MAX_TAGS) {
    const own = Object.keys(ours).length;
    problems.push(
      `${all.length} tags, of which ${own} are this controller's own, are more than the ${MAX_TAGS} AWS allows`,
    );
  }
  return problems.length > 0
    ? E.left({ kind: 'TagsInvalid', problems })
    : E.right(Object.fromEntries(sorted(Object.fromEntries(all.map(({ key, value }) => [key, value])))));
}

function problemsOf({ key, value, source }: Sourced): readonly string[] {
  const tag = `tag ${JSON.stringify(abbreviated(key))} of ${source}`;
  const problems: string[] = [];
  if (key === '') {
    problems.push(`a tag of ${source} has an empty key`);
  }
  if (characters(key) > MAX_KEY_CHARACTERS) {
    problems.push(`${tag}: the key has ${characters(key)} characters, AWS allows ${MAX_KEY_CHARACTERS}`);
  }
  if (characters(value) > MAX_VALUE_CHARACTERS) {
    problems.push(`${tag}: the value has ${characters(value)} characters, AWS allows ${MAX_VALUE_CHARACTERS}`);
  }
  if (isReserved(key)) {
    problems.push(`${tag}: keys that begin with "${RESERVED_PREFIX}" are reserved for AWS`);
  }
  for (const [part, text] of [
    ['key', key],
    ['value', value],
  ] as const) {
    if (!ALLOWED.test(text)) {
      problems.push(`${tag}: the ${part} may hold letters, digits, spaces and _ . : / = + - @ only`);
    }
  }
  return problems;
}

const isReserved = (key: string): boolean => key.toLowerCase().startsWith(RESERVED_PREFIX);

/** AWS counts code points. */
const characters = (text: string): number => [...text].length;

const abbreviated = (key: string): string => (characters(key) > 64 ? `${[...key].slice(0, 61).join('')}...` : key);

const sorted = (tags: Tags): (readonly [string, string])[] =>
  Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
