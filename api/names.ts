import type { Brand } from './brand.ts';
import { branded } from './schema/branded.ts';

// Each noun is a type and, under the same name, its codec: `decode` for what comes from outside, `of` for what was computed.

/** `metadata.name` of a Cluster API Cluster. Not the name of the EKS cluster. */
export type ClusterName = Brand<string, 'ClusterName'>;
export const ClusterName = branded<ClusterName>();

/** The name under which EKS knows the cluster: `spec.eksClusterName` of the control plane. */
export type EksClusterName = Brand<string, 'EksClusterName'>;
export const EksClusterName = branded<EksClusterName>();

/** The name of a Fargate profile in EKS. */
export type ProfileName = Brand<string, 'ProfileName'>;
export const ProfileName = branded<ProfileName>();

/** The name of an IAM role, without its path. */
export type RoleName = Brand<string, 'RoleName'>;
export const RoleName = branded<RoleName>();

export type RoleArn = Brand<string, 'RoleArn'>;
export const RoleArn = branded<RoleArn>();

/** Twelve digits. */
export type AccountId = Brand<string, 'AccountId'>;
export const AccountId = branded<AccountId>();
