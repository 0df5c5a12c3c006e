import type { AwsLocation } from './arns.ts';
import type { OperatorLimits } from './operator-limits.ts';

/** Returns the ARN of the required permissions boundary in the partition and account of an EKS cluster. */
export function requiredBoundary(
  { permissionsBoundary }: OperatorLimits,
  { partition, account }: Pick<AwsLocation, 'partition' | 'account'>,
): string | undefined {
  return permissionsBoundary
    ?.replace(/^arn:\*:/, `arn:${partition}:`)
    .replace(/^(arn:[^:]*:iam::)\*:/, `$1${account}:`);
}
