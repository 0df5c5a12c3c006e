import type { AwsLocation } from './arns.ts';
import type { OperatorLimits } from './operator-limits.ts';

/**
 * Returns the ARN of the permissions boundary that the operator requires, with the partition and account of the EKS
 * cluster in place of `*`.
 */
export function requiredBoundary(
  { permissionsBoundary }: OperatorLimits,
  { partition, account }: Pick<AwsLocation, 'partition' | 'account'>,
): string | undefined {
  return permissionsBoundary
    ?.replace(/^arn:\*:/, `arn:${partition}:`)
    .replace(/^(arn:[^:]*:iam::)\*:/, `$1${account}:`);
}
