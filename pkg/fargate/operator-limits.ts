import type { AccountId } from '../../api/names.ts';
import { matchesWildcard } from './wildcard.ts';
import type { AwsLocation } from './arns.ts';

/** In a pattern, `*` stands for any number of characters and `?` for one, as in IAM policies. */
export interface OperatorLimits {
  /**
   * The ARN of the permissions boundary that each role created by this controller must have. `*` in place of partition
   * or account stands for the EKS cluster's value. If undefined, the spec can set any boundary or none.
   */
  readonly permissionsBoundary?: string;
  /** Patterns for the role ARNs that an AWSFargateProfile can use. If undefined, it can use all roles. */
  readonly roleArns?: readonly string[];
  /** Patterns for the policy ARNs that an AWSFargateProfile can use. If undefined, it can use all policies. */
  readonly policyArns?: readonly string[];
  /** The EKS clusters that an AWSFargateProfile can use in spec.eksCluster. If undefined, none are allowed. */
  readonly eksClusters?: readonly AllowedEksClusters[];
}

export interface AllowedEksClusters {
  /** A wildcard pattern for the namespaces of the AWSFargateProfiles that can use these EKS clusters. */
  readonly namespace: string;
  readonly account: AccountId;
  readonly region: string;
  /** A wildcard pattern for the EKS clusters' names. */
  readonly name: string;
}

export const NO_LIMITS: OperatorLimits = {};

export interface LimitExcess {
  /** For example `spec.roleARN`. */
  readonly field: string;
  readonly value: string;
  /** The allowed value or the patterns for allowed values. */
  readonly allowed: readonly string[];
  /** The namespace of the object. Set only if `field` is spec.eksCluster. */
  readonly namespace?: string;
}

export const findRoleExcess = ({ roleArns }: OperatorLimits, field: string, arn: string): readonly LimitExcess[] =>
  findExcess(roleArns, field, arn);

export const findPolicyExcess = ({ policyArns }: OperatorLimits, field: string, arn: string): readonly LimitExcess[] =>
  findExcess(policyArns, field, arn);

/** `account` is the AWS account of the EKS cluster. If `undefined`, only region and name are compared. */
export function findEksClusterExcess(
  { eksClusters = [] }: OperatorLimits,
  namespace: string,
  { account, region, name }: { readonly account?: AccountId; readonly region: string; readonly name: string },
): readonly LimitExcess[] {
  const ofNamespace = eksClusters.filter((each) => matchesWildcard(each.namespace, namespace));
  const isAllowed = ofNamespace.some(
    (each) =>
      (account === undefined || each.account === account) && each.region === region && matchesWildcard(each.name, name),
  );
  if (isAllowed) return [];
  const value = [...(account === undefined ? [] : [account]), region, name].join('/');
  const allowed = ofNamespace.map((each) => [each.account, each.region, each.name].join('/'));
  return [{ field: 'spec.eksCluster', value, allowed, namespace }];
}

function findExcess(allowed: readonly string[] | undefined, field: string, value: string): readonly LimitExcess[] {
  return allowed === undefined || allowed.some((pattern) => matchesWildcard(pattern, value))
    ? []
    : [{ field, value, allowed }];
}

/** Returns the required permissions boundary, with the EKS cluster's partition and account in place of `*`. */
export function requiredBoundary(
  { permissionsBoundary }: OperatorLimits,
  { partition, account }: Pick<AwsLocation, 'partition' | 'account'>,
): string | undefined {
  return permissionsBoundary
    ?.replace(/^arn:\*:/, `arn:${partition}:`)
    .replace(/^(arn:[^:]*:iam::)\*:/, `$1${account}:`);
}
