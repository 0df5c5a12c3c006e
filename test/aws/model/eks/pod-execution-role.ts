import type { Context } from '../context.ts';
import { eksErrors } from '../errors.ts';
import { addRole } from '../iam/role-changes.ts';
import { versionVisibleAfter } from '../iam/role-visibility.ts';
import type { EmulatedCluster } from '../resources.ts';
import { allowsAssume } from '../iam/trust-policy.ts';

const fargateService = 'eks-fargate-pods.amazonaws.com';
const serviceLinkedRole = 'AWSServiceRoleForAmazonEKSForFargate';
const serviceLinkedPath = '/aws-service-role/eks-fargate.amazonaws.com/';

/**
 * Checks the pod execution role of a CreateFargateProfile request: the caller may pass the role, and its trust policy
 * lets Fargate assume the role for this profile. EKS sees a new role or trust policy only after a delay. Until then,
 * EKS checks the earlier trust policy; for a new role, it returns the same error as for a wrong trust policy.
 */
export function checkPodExecutionRole(
  roleArn: string,
  profileName: string,
  cluster: EmulatedCluster,
  context: Context,
  members: Readonly<Record<string, string>>,
): void {
  const { state, principals, principal, account, region, now } = context;
  checkServiceLinkedRole(context, members);
  const parts = /^arn:[^:]+:iam::(\d{12}):role\/(?:.*\/)?([^/]+)$/.exec(roleArn);
  if (parts === null) throw eksErrors.invalidParameter(`Invalid pod execution role ARN: ${roleArn}`, members);
  if (parts[1] !== account.id) throw eksErrors.accessDenied('Cross-account pass role is not allowed.');
  principals.authorize('eks', principal, 'iam:PassRole', roleArn);

  const role = account.roles.get((parts[2] ?? '').toLowerCase());
  const seen = role?.arn === roleArn ? versionVisibleAfter(role, state.config.iam.trustVisibleToEksMs, now) : undefined;
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

/**
 * Looks for Fargate's service-linked role, and creates it if it does not exist. EKS does both with the permissions of
 * the caller, so the caller needs iam:GetRole and iam:CreateServiceLinkedRole.
 */
function checkServiceLinkedRole(context: Context, members: Readonly<Record<string, string>>): void {
  const { principals, principal, account, now, state } = context;
  const arn = `arn:${principal.partition}:iam::${account.id}:role${serviceLinkedPath}${serviceLinkedRole}`;
  if (principals.isDenied(principal, 'iam:GetRole', arn)) {
    // The closing quote is missing on purpose: it is also missing in the error message of the real EKS.
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
  addRole(account, state.env, now, {
    name: serviceLinkedRole,
    path: serviceLinkedPath,
    trustPolicy,
    foreign: true,
  });
}
