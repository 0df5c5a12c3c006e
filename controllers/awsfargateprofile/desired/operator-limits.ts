import type { AWSFargateProfileSpec } from '../../../api/v1beta2/index.ts';
import type { AwsLocation } from '../../../pkg/fargate/arns.ts';
import type { LimitExcess, OperatorLimits } from '../../../pkg/fargate/operator-limits.ts';
import { findPolicyExcess, findRoleExcess, requiredBoundary } from '../../../pkg/fargate/operator-limits.ts';

export function findExcess(
  { roleARN, rolePermissionsBoundary, roleAdditionalPolicies = [] }: AWSFargateProfileSpec,
  limits: OperatorLimits,
  place: AwsLocation,
): readonly LimitExcess[] {
  const boundary = requiredBoundary(limits, place);
  const isOtherBoundary =
    boundary !== undefined && rolePermissionsBoundary !== undefined && rolePermissionsBoundary !== boundary;
  return [
    ...(roleARN === undefined ? [] : findRoleExcess(limits, 'spec.roleARN', roleARN)),
    ...(isOtherBoundary
      ? [{ field: 'spec.rolePermissionsBoundary', value: rolePermissionsBoundary, allowed: [boundary] }]
      : []),
    ...roleAdditionalPolicies.flatMap((arn, index) =>
      findPolicyExcess(limits, `spec.roleAdditionalPolicies[${index}]`, arn),
    ),
  ];
}
