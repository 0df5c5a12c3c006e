import type { AccountId } from '../../api/names.ts';
import { matchesWildcard } from './wildcard.ts';
import type { AwsLocation } from './arns.ts';

/**
 * The limits that the operator sets. In a pattern, `*` stands for any number of characters and `?` for one, as in IAM
 * policies.
 */
export interface OperatorLimits {
  /**
   * The ARN of the permissions boundary that each role created by this controller must have. `*` in place of partition
   * or account stands for that of the EKS cluster. `undefined`: the spec can set any boundary or none.
   */
  readonly permissionsBoundary?: string;
  /** Patterns for the role ARNs that an AWSFargateProfile can use; `undefined`: all roles. */
  readonly roleArns?: readonly string[];
  /** Patterns for the policy ARNs that an AWSFargateProfile can use; `undefined`: all policies. */
  readonly policyArns?: readonly string[];
  /** The EKS clusters that an AWSFargateProfile can use in spec.eksCluster; `undefined`: none are allowed. */
  readonly eksClusters?: readonly AllowedEksClusters[];
}

/** The EKS clusters that are allowed for AWSFargateProfiles in the namespaces that match `namespace`. */
export interface AllowedEksClusters {
  /** The wildcard pattern for the namespaces of the AWSFargateProfiles. */
  readonly namespace: string;
  readonly account: AccountId;
  readonly region: string;
  /** The wildcard pattern for the names of the EKS clusters. */
  readonly name: string;
}

export const NO_LIMITS: OperatorLimits = {};

export interface LimitExcess {
  /** For example `spec.roleARN`. */
  readonly field: string;
  readonly value: string;
  /** The allowed value or the patterns for allowed values. */
  readonly allowed: readonly string[];
}

export const findRoleExcess = ({ roleArns }: OperatorLimits, field: string, arn: string): readonly LimitExcess[] =>
  findExcess(roleArns, field, arn);

export const findPolicyExcess = ({ policyArns }: OperatorLimits, field: string, arn: string): readonly LimitExcess[] =>
  findExcess(policyArns, field, arn);

/**
 * Reports an EKS cluster that is not allowed. `account` is where the controller looks for the EKS cluster. While it is
 * `undefined`, only region and name are compared.
 */
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
  return [{ field: 'spec.eksCluster', value, allowed }];
}

function findExcess(allowed: readonly string[] | undefined, field: string, value: string): readonly LimitExcess[] {
  return allowed === undefined || allowed.some((pattern) => matchesWildcard(pattern, value))
    ? []
    : [{ field, value, allowed }];
}

/** Returns the required permissions boundary, with the partition and account of the EKS cluster in place of `*`. */
export function requiredBoundary(
  { permissionsBoundary }: OperatorLimits,
  { partition, account }: Pick<AwsLocation, 'partition' | 'account'>,
): string | undefined {
  return permissionsBoundary
    ?.replace(/^arn:\*:/, `arn:${partition}:`)
    .replace(/^(arn:[^:]*:iam::)\*:/, `$1${account}:`);
}
