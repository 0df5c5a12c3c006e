import { createHash } from 'node:crypto';
import type { ClusterName } from '../../../api/names.ts';
import { MAX_VALUE_CHARACTERS, isLongerThan } from './tag-limits.ts';

/** The key of a tag on Fargate profiles. The value of the tag names the AWSFargateProfile: `<namespace>/<name>`. */
export const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
/**
 * The key of a tag on IAM roles. The value of the tag is the ARN of the EKS cluster. IAM is global, so this tag
 * prevents that two clusters of the same name in different regions share a role.
 */
export const EKS_CLUSTER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
/**
 * The key of a tag on IAM roles. The value of the tag is the namespace of the AWSFargateProfiles that use the role. A
 * control plane in another namespace may name the same EKS cluster; this tag keeps the roles of the two namespaces
 * apart.
 */
export const NAMESPACE_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace';
/**
 * The key of a tag on Fargate profiles and IAM roles. Its value records what this controller has added to the profile or
 * role and may later remove. If the value is too long for one tag, the rest is in tags with the suffixes `-2`, `-3` and
 * so on.
 */
export const ADDED_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/added';
/**
 * The prefix of the tag key that Cluster API Provider AWS sets on profiles and roles. The rest of the tag key is the
 * name of the Cluster.
 */
export const CLUSTER_TAG_PREFIX = 'kubernetes.io/cluster/';
export const OWNED = 'owned';

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
