import * as E from 'fp-ts/lib/Either.js';
import type { ClusterName } from '../../../api/names.ts';
import { type AWSFargateProfile, MAX_TAGS } from '../../../api/v1beta2/index.ts';
import { isAddedTagKey, tagAddition } from './tag-drift.ts';
import {
  OWNED,
  OWNER_TAG,
  clusterTag,
  ownerTagValue,
  roleOwnershipTags,
  foldCase,
  keepCase,
  sortedEntries,
} from './tag-keys.ts';
import { type SourcedTag, validateTag } from './tag-limits.ts';
import type { KeyFold, RoleOwner, Tags } from './tag-keys.ts';

/** Each problem is a clause for the message of a condition. */
type Problems = readonly string[];

export interface TagsToSet {
  /** The tags of an AWS resource, without the bookkeeping tags (ADDED_TAG). */
  readonly tags: Tags;
  /** The tags that users want, as texts such as `tag team`. The bookkeeping tags record digests of these texts. */
  readonly additions: readonly string[];
}

/** Tags that users want. `source` is for messages, such as `the control plane`. */
interface UserTags {
  readonly source: string;
  readonly tags: Tags;
}

type ObjectSpec = Pick<AWSFargateProfile, 'spec'>;

/**
 * Returns the tags that users want on the Fargate profile and on the IAM role. If two sources have the same key, the
 * first one takes precedence. Without a Cluster, the object does not get the tags of a control plane.
 */
const userTags = ({ spec }: ObjectSpec, controlPlaneTags: Tags): readonly UserTags[] => [
  { source: 'the AWSFargateProfile', tags: spec.additionalTags ?? {} },
  { source: 'the control plane', tags: spec.clusterName === undefined ? {} : controlPlaneTags },
];

/**
 * Returns the tags that users want on the object's IAM role, by their keys in lower case. AWSFargateProfiles that share
 * a role compare these tags, because a tag cannot have two values.
 */
export const roleTagsOfUsers = (object: ObjectSpec, controlPlaneTags: Tags): ReadonlyMap<string, SourcedTag> =>
  firstOfEachKey(userTags(object, controlPlaneTags), foldCase);

/** The result omits the bookkeeping tags that `addedTags` (tag-drift.ts) computes from `additions`. */
export function profileTags(
  owner: { readonly namespace: string; readonly name: string; readonly clusterName: ClusterName | undefined },
  object: ObjectSpec,
  controlPlaneTags: Tags,
): E.Either<Problems, TagsToSet> {
  const ours = { [OWNER_TAG]: ownerTagValue(owner), ...clusterTags(owner) };
  return mergeTags(ours, userTags(object, controlPlaneTags), keepCase);
}

/** The result omits the bookkeeping tags that `addedTags` (tag-drift.ts) computes from `additions`. */
export function roleTags(
  owner: RoleOwner & { readonly clusterName: ClusterName | undefined },
  object: ObjectSpec,
  controlPlaneTags: Tags,
): E.Either<Problems, TagsToSet> {
  const ours = { ...roleOwnershipTags(owner), ...clusterTags(owner) };
  return mergeTags(ours, userTags(object, controlPlaneTags), foldCase);
}

/** Without a Cluster, Cluster API does not manage the EKS cluster, so no tag contains the name of a Cluster. */
const clusterTags = ({ clusterName }: { readonly clusterName: ClusterName | undefined }): Tags =>
  clusterName === undefined ? {} : { [clusterTag(clusterName)]: OWNED };

/** Describes keys of one source that AWS treats as equal, but whose values differ: AWS would keep only one of them. */
function conflictingKeys({ source, tags }: UserTags, fold: KeyFold): readonly string[] {
  const firsts = new Map<string, readonly [key: string, value: string]>();
  return sortedEntries(tags).flatMap(([key, value]) => {
    const first = firsts.get(fold(key));
    if (first === undefined) firsts.set(fold(key), [key, value]);
    return first === undefined || first[1] === value
      ? []
      : [
          `tags "${first[0]}" and "${key}" of ${source}: IAM ignores the case of letters in keys, so the role could have only one of these tags`,
        ];
  });
}

/** Returns one tag per key, from the first source that has it. `fold` compares keys as AWS does: IAM ignores case. */
function firstOfEachKey(sources: readonly UserTags[], fold: KeyFold): ReadonlyMap<string, SourcedTag> {
  const merged = new Map<string, SourcedTag>();
  for (const { source, tags } of sources) {
    for (const [key, value] of sortedEntries(tags)) {
      if (!merged.has(fold(key))) merged.set(fold(key), { key, value, source });
    }
  }
  return merged;
}

function mergeTags(ours: Tags, ofUsers: readonly UserTags[], fold: KeyFold): E.Either<Problems, TagsToSet> {
  const all = [...firstOfEachKey([{ source: 'this controller', tags: ours }, ...ofUsers], fold).values()];
  const problems = [
    ...all.flatMap(validateTag),
    ...all
      .filter(({ key }) => isAddedTagKey(key.toLowerCase()))
      .map(({ key, source }) => `tag "${key}" of ${source}: only this controller may set it`),
    ...ofUsers.flatMap((each) => conflictingKeys(each, fold)),
  ];
  if (all.length > MAX_TAGS) {
    const own = Object.keys(ours).length;
    problems.push(
      `there are ${all.length} tags (${own} of them from this controller), but AWS allows only ${MAX_TAGS}`,
    );
  }
  if (problems.length > 0) return E.left(problems);
  return E.right({
    tags: Object.fromEntries(sortedEntries(Object.fromEntries(all.map(({ key, value }) => [key, value])))),
    additions: ofUsers.flatMap(({ tags }) => Object.keys(tags)).map((key) => tagAddition(key, fold)),
  });
}
