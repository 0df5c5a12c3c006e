import { createHash } from 'node:crypto';
import type { ClusterName } from '../../../api/names.ts';
import { MAX_TAG_VALUE } from '../../../api/v1beta2/index.ts';
import { isLongerThan } from './tag-limits.ts';

/** On Fargate profiles: the AWSFargateProfile as `<namespace>/<name>`. */
export const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
/** On IAM roles: the EKS cluster's ARN, because same-named clusters of two regions must not share a role. */
export const EKS_CLUSTER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
/**
 * On IAM roles: the namespace of the AWSFargateProfiles that use the role. Distinguishes the roles of two namespaces
 * whose control planes use the same EKS cluster.
 */
export const NAMESPACE_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace';
/**
 * On Fargate profiles and roles: what this controller has added and may later remove. Values that are too long for one
 * tag continue in tags with the suffixes `-2`, `-3`, and so on.
 */
export const ADDED_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/added';
/** CAPA tags profiles and roles with this prefix and the name of the Cluster. */
export const CLUSTER_TAG_PREFIX = 'kubernetes.io/cluster/';
export const OWNED = 'owned';

export function clusterTag(cluster: ClusterName): string {
  return CLUSTER_TAG_PREFIX + cluster;
}

/**
 * Returns `<namespace>/<name>`, or `<namespace>/sha256-<the first 40 hexadecimal digits of its hash>` if the former is
 * too long for a tag value.
 */
export function ownerTagValue(object: { readonly namespace: string; readonly name: string }): string {
  const plain = `${object.namespace}/${object.name}`;
  if (!isLongerThan(MAX_TAG_VALUE, plain)) {
    return plain;
  }
  const digest = createHash('sha256').update(plain, 'utf8').digest('hex').slice(0, 40);
  return `${object.namespace}/sha256-${digest}`;
}

export type Tags = Readonly<Record<string, string>>;

export interface RoleOwner {
  readonly eksClusterArn: string;
  readonly namespace: string;
}

/** These tags mark an IAM role as owned by this controller. */
export const roleOwnershipTags = ({ eksClusterArn, namespace }: RoleOwner): Tags => ({
  [EKS_CLUSTER_TAG]: eksClusterArn,
  [NAMESPACE_TAG]: namespace,
});

/** Normalizes a tag key, because EKS and IAM compare keys differently. */
export type KeyFold = (key: string) => string;
/** EKS's tag keys are case-sensitive. */
export const keepCase: KeyFold = (key) => key;
/** IAM's tag keys are case-insensitive. */
export const foldCase: KeyFold = (key) => key.toLowerCase();

export function tagValue(tags: Tags, key: string, fold: KeyFold): string | undefined {
  return Object.entries(tags).find(([candidate]) => fold(candidate) === fold(key))?.[1];
}

export const sortedEntries = (tags: Tags): (readonly [string, string])[] =>
  Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

export const hasNoTags = (tags: Tags): boolean => Object.keys(tags).length === 0;
