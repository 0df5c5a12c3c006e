import {
  DeleteClusterCommand,
  DeleteFargateProfileCommand,
  ListClustersCommand,
  ListFargateProfilesCommand,
} from '@aws-sdk/client-eks';
import type { EKSClient } from '@aws-sdk/client-eks';
import {
  DeleteInstanceProfileCommand,
  DeleteRoleCommand,
  DeleteRolePermissionsBoundaryCommand,
  DeleteRolePolicyCommand,
  DetachRolePolicyCommand,
  ListAttachedRolePoliciesCommand,
  ListInstanceProfilesCommand,
  ListRolePoliciesCommand,
  ListRolesCommand,
  RemoveRoleFromInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import type { IAMClient } from '@aws-sdk/client-iam';
import type { SdkClients } from './scenario.ts';

/**
 * Removes the AWS resources that conformance scenarios have created in the account and region of the clients. The tests
 * do not use moto's own reset function, because it rebuilds all services in all regions and takes a second.
 */
export async function removeAll({ eks, iam }: SdkClients): Promise<void> {
  await removeClusters(eks);
  await removeInstanceProfiles(iam);
  await removeRoles(iam);
}

async function removeClusters(eks: EKSClient): Promise<void> {
  const { clusters = [] } = await eks.send(new ListClustersCommand({}));
  for (const clusterName of clusters) {
    const { fargateProfileNames = [] } = await eks.send(new ListFargateProfilesCommand({ clusterName }));
    for (const fargateProfileName of fargateProfileNames) {
      await eks.send(new DeleteFargateProfileCommand({ clusterName, fargateProfileName }));
    }
    await eks.send(new DeleteClusterCommand({ name: clusterName }));
  }
}

async function removeInstanceProfiles(iam: IAMClient): Promise<void> {
  const { InstanceProfiles = [] } = await iam.send(new ListInstanceProfilesCommand({}));
  for (const { InstanceProfileName, Roles = [] } of InstanceProfiles) {
    for (const { RoleName } of Roles) {
      await iam.send(new RemoveRoleFromInstanceProfileCommand({ InstanceProfileName, RoleName }));
    }
    await iam.send(new DeleteInstanceProfileCommand({ InstanceProfileName }));
  }
}

async function removeRoles(iam: IAMClient): Promise<void> {
  const { Roles = [] } = await iam.send(new ListRolesCommand({}));
  for (const { RoleName } of Roles) {
    const { AttachedPolicies = [] } = await iam.send(new ListAttachedRolePoliciesCommand({ RoleName }));
    for (const { PolicyArn } of AttachedPolicies) await iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn }));
    const { PolicyNames = [] } = await iam.send(new ListRolePoliciesCommand({ RoleName }));
    for (const PolicyName of PolicyNames) await iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
    await iam.send(new DeleteRolePermissionsBoundaryCommand({ RoleName }));
    await iam.send(new DeleteRoleCommand({ RoleName }));
  }
}
