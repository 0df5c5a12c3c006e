import type { AwsLocation } from './arns.ts';
import { matchesWildcard } from './policy.ts';

/**
 * The limits that the operator of this controller sets for the roles of AWSFargateProfiles. In a pattern, `*` stands for any
 * number of characters and `?` for one, as in IAM policies.
 */
export interface OperatorLimits {
  /**
   * The ARN of the permissions boundary of each role that this controller manages; `*` in place of partition or account
   * stands for that of the EKS cluster. `undefined`: the spec decides.
   */
  readonly permissionsBoundary?: string;
  /** Patterns for the ARNs of the roles that an AWSFargateProfile may name; `undefined`: all. */
  readonly roleArns?: readonly string[];
  /** Patterns for the ARNs of the policies that an AWSFargateProfile may name; `undefined`: all. */
  readonly policyArns?: readonly string[];
}

export const NO_LIMITS: OperatorLimits = {};

/** A value of a spec that the limits do not allow. */
export interface LimitExcess {
  /** The path of the field, for example `spec.roleARN`. */
  readonly field: string;
  readonly value: string;
  /** The allowed value or the patterns for allowed values. */
  readonly allowed: readonly string[];
}

/** Returns the ARN of the required permissions boundary in the partition and account of an EKS cluster. */
export function requiredBoundary(
  { permissionsBoundary }: OperatorLimits,
  { partition, account }: Pick<AwsLocation, 'partition' | 'account'>,
): string | undefined {
  return permissionsBoundary
    ?.replace(/^arn:\*:/, `arn:${partition}:`)
    .replace(/^(arn:[^:]*:iam::)\*:/, `$1${account}:`);
}

export const findRoleExcess = ({ roleArns }: OperatorLimits, field: string, arn: string): readonly LimitExcess[] =>
  findExcess(roleArns, field, arn);

export const findPolicyExcess = ({ policyArns }: OperatorLimits, field: string, arn: string): readonly LimitExcess[] =>
  findExcess(policyArns, field, arn);

function findExcess(allowed: readonly string[] | undefined, field: string, value: string): readonly LimitExcess[] {
  return allowed === undefined || allowed.some((pattern) => matchesWildcard(pattern, value))
    ? []
    : [{ field, value, allowed }];
}
