import type { Context } from './context.ts';
import { eksErrors } from './errors.ts';
import { newRole } from './iam-state.ts';
import { seenBy } from './role-visibility.ts';
import type { Cluster } from './state.ts';
import { allowsAssume } from './trust.ts';

const fargateService = 'eks-fargate-pods.amazonaws.com';
const serviceLinkedRole = 'AWSServiceRoleForAmazonEKSForFargate';
const serviceLinkedPath = '/aws-service-role/eks-fargate.amazonaws.com/';

/**
 * What EKS asks of the pod execution role when a profile is created: the caller may pass it, and EKS sees it with a
 * trust policy that lets Fargate assume it for this profile. A role that EKS does not see yet and one with a wrong
 * trust policy get the same answer.
 */
export function checkPodExecutionRole(
  roleArn: string,
  profileName: string,
  cluster: Cluster,
  context: Context,
  members: Readonly<Record<string, string>>,
): void {
  const { world, principals, principal, account, region, now } = context;
  checkServiceLinkedRole(context, members);
  const parts = /^arn:[^:]+:iam::(\d{12}):role\/(?:.*\/)?([^/]+)$/.exec(roleArn);
  if (parts === null) throw eksErrors.invalidParameter(`Invalid pod execution role ARN: ${roleArn}`, members);
  if (parts[1] !== account.id) throw eksErrors.accessDenied('Cross-account pass role is not allowed.');
  principals.authorize('eks', principal, 'iam:PassRole', roleArn);

  const role = account.roles.get((parts[2] ?? '').toLowerCase());
  const seen = role?.arn === roleArn ? seenBy(role, world.config.iam.trustVisibleToEksMs, now) : undefined;
  const source = `arn:${principal.partition}:eks:${region.name}:${account.id}:fargateprofile/${cluster.name}/${profileName}`;
  const trusted =
    seen !== undefined &&
    allowsAssume(seen.trustPolicy, {
      principal: { service: fargateService },
      context: { 'aws:sourcearn': source, 'aws:sourceaccount': account.id },
    });
  if (!trusted) {
    throw eksErrors.invalidParameter(
      `Misconfigured PodExecutionRole Trust Policy; Please add the ${fargateService} Service Principal`,
      members,
    );
  }
}

/** EKS looks for Fargate's service-linked role with the caller's permissions and makes it when it is absent. */
function checkServiceLinkedRole(context: Context, members: Readonly<Record<string, string>>): void {
  const { principals, principal, account, now, world } = context;
  const arn = `arn:${principal.partition}:iam::${account.id}:role${serviceLinkedPath}${serviceLinkedRole}`;
  if (principals.isDenied(principal, 'iam:GetRole', arn)) {
    // The missing quote at the end is AWS's.
    throw eksErrors.invalidRequest(
      `Failed to validate if SLR: ${serviceLinkedRole} already exists due to missing permissions for 'iam:GetRole`,
      members,
    );
  }
  if (account.roles.has(serviceLinkedRole.toLowerCase())) return;
  principals.authorize('eks', principal, 'iam:CreateServiceLinkedRole', arn);
  const trustPolicy = JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: { Service: 'eks-fargate.amazonaws.com' }, Action: 'sts:AssumeRole' }],
  });
  newRole(account, world.env, now, {
    name: serviceLinkedRole,
    path: serviceLinkedPath,
    trustPolicy,
    foreign: true,
  });
}
