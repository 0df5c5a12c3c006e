import type { AccountId } from '../../api/names.ts';
import { matchesWildcard } from './wildcard.ts';

/**
 * The limits that the operator of this controller sets for AWSFargateProfiles, their roles and their policies. In a
 * pattern, `*` stands for any number of characters and `?` for one, as in IAM policies.
 */
export interface OperatorLimits {
  /**
   * The ARN of the permissions boundary that each IAM role created by this controller must have. `*` in place of the
   * partition or the account stands for the partition or the account of the EKS cluster. `undefined`: the operator
   * requires no permissions boundary, and the spec of an AWSFargateProfile may name any or none.
   */
  readonly permissionsBoundary?: string;
  /** Patterns for the ARNs of the roles that an AWSFargateProfile may name; `undefined`: all roles. */
  readonly roleArns?: readonly string[];
  /** Patterns for the ARNs of the policies that an AWSFargateProfile may name; `undefined`: all policies. */
  readonly policyArns?: readonly string[];
  /** The EKS clusters that spec.eksCluster of an AWSFargateProfile may name; `undefined`: no EKS cluster. */
  readonly eksClusters?: readonly AllowedEksClusters[];
}

/**
 * EKS clusters that an AWSFargateProfile may name in spec.eksCluster if its namespace matches the pattern `namespace`.
 */
export interface AllowedEksClusters {
  /** The wildcard pattern for the namespaces of the AWSFargateProfiles. */
  readonly namespace: string;
  readonly account: AccountId;
  readonly region: string;
  /** The wildcard pattern for the names of the EKS clusters. */
  readonly name: string;
}

export const NO_LIMITS: OperatorLimits = {};

/** A value in the spec of an AWSFargateProfile that the operator's limits do not allow. */
export interface LimitExcess {
  /** The path of the field, for example `spec.roleARN`. */
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
 * Checks whether the operator's limits allow an AWSFargateProfile of the namespace to name the EKS cluster in
 * spec.eksCluster. If not, returns the EKS cluster as a {@link LimitExcess}. `account` is the AWS account in which the
 * controller looks for the EKS cluster. While the account is `undefined`, only region and name are compared.
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
