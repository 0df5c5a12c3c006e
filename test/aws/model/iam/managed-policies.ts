import type { Context } from '../context.ts';

/** Whether the managed policy exists in the AWS emulator, as a policy of AWS or of the caller's account. */
export function policyExists(arn: string, context: Context): boolean {
  return context.account.policies.has(arn) || isAwsManagedPolicy(arn, context.account.partition);
}

// The AWS managed policies that the AWS emulator knows. The real AWS has more.
const awsManagedPolicies = new Set([
  'AdministratorAccess',
  'AmazonEC2ContainerRegistryReadOnly',
  'AmazonEC2ContainerRegistryPullOnly',
  'AmazonEKSClusterPolicy',
  'AmazonEKSFargatePodExecutionRolePolicy',
  'AmazonEKSWorkerNodePolicy',
  'AmazonEKS_CNI_Policy',
  'AmazonS3ReadOnlyAccess',
  'AmazonSSMManagedInstanceCore',
  'CloudWatchAgentServerPolicy',
  'CloudWatchLogsFullAccess',
  'PowerUserAccess',
  'ReadOnlyAccess',
  'SecurityAudit',
]);

function isAwsManagedPolicy(arn: string, partition: string): boolean {
  const prefix = `arn:${partition}:iam::aws:policy/`;
  return arn.startsWith(prefix) && awsManagedPolicies.has(arn.slice(prefix.length));
}
