import * as E from 'fp-ts/lib/Either.js';
import type { ClusterName } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { isAddedTagKey, tagAddition } from './tag-drift.ts';
import {
  EKS_CLUSTER_TAG,
  NAMESPACE_TAG,
  OWNED,
  OWNER_TAG,
  clusterTag,
  ownerTagValue,
  foldCase,
  keepCase,
  sortedEntries,
} from './tag-keys.ts';
import { type SourcedTag, MAX_TAGS, validateTag } from './tag-limits.ts';
import type { KeyFold, Tags } from './tag-keys.ts';

/** Each problem is a clause for the message of a condition. */
export interface TagsInvalid {
  readonly kind: 'TagsInvalid';
  readonly problems: readonly string[];
}

export interface TagSources {
  /** If undefined, Cluster API does not manage the EKS cluster, so no tag contains a Cluster. */
  readonly clusterName: ClusterName | undefined;
  /** From the AWSFargateProfile's `spec.additionalTags`. */
  readonly object: Tags;
  /** From the control plane's `spec.additionalTags`. */
  readonly controlPlane: Tags;
}

/** Without a Cluster, an AWSFargateProfile does not get a control plane's tags. */
export const tagSources = (
  { spec }: Pick<AWSFargateProfile, 'spec'>,
  { controlPlaneTags }: { readonly controlPlaneTags: Tags },
  { clusterName }: Pick<TagSources, 'clusterName'>,
): TagSources => ({
  clusterName,
  object: spec.additionalTags ?? {},
  controlPlane: spec.clusterName === undefined ? {} : controlPlaneTags,
});

export const tagAdditions = ({ object, controlPlane }: TagSources, fold: KeyFold): readonly string[] =>
  [...Object.keys(object), ...Object.keys(controlPlane)].map((key) => tagAddition(key, fold));

/** The result omits the tags that record the controller's additions. */
export function profileTags(
  owner: { readonly namespace: string; readonly name: string },
  sources: TagSources,
): E.Either<TagsInvalid, Tags> {
  return mergeTags({ [OWNER_TAG]: ownerTagValue(owner), ...clusterTags(sources) }, sources, keepCase);
}

/** The result omits the tags that record the controller's additions. IAM ignores case in keys. */
export function roleTags(
  { eksClusterArn, namespace }: { readonly eksClusterArn: string; readonly namespace: string },
  sources: TagSources,
): E.Either<TagsInvalid, Tags> {
  const ours = { ...roleOwnershipTags({ eksClusterArn, namespace }), ...clusterTags(sources) };
  return mergeTags(ours, sources, foldCase);
}

const clusterTags = ({ clusterName }: TagSources): Tags =>
  clusterName === undefined ? {} : { [clusterTag(clusterName)]: OWNED };

/** These tags mark an IAM role as owned by this controller. */
export const roleOwnershipTags = ({
  eksClusterArn,
  namespace,
}: {
  readonly eksClusterArn: string;
  readonly namespace: string;
}): Tags => ({ [EKS_CLUSTER_TAG]: eksClusterArn, [NAMESPACE_TAG]: namespace });

/** If one source contains different values for keys that AWS treats as equal, AWS would keep only one of them. */
function conflictingKeys(tags: Tags, source: string, fold: KeyFold): readonly string[] {
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
  const problems = [
    ...all.flatMap(validateTag),
    ...all
      .filter(({ key }) => isAddedTagKey(key.toLowerCase()))
      .map(({ key, source }) => `tag "${key}" of ${source}: only this controller may set it`),
    ...conflictingKeys(sources.object, 'the AWSFargateProfile', fold),
    ...conflictingKeys(sources.controlPlane, 'the control plane', fold),
  ];
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
