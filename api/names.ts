import { type Brand, branded } from 'controller-runtime/schema';

// Each type has a codec of the same name: `decode` accepts any string, and `of` converts a name that the controller has
// computed.

/** `metadata.name` of Cluster API's Cluster. The EKS cluster can have a different name: {@link EksClusterName}. */
export type ClusterName = Brand<string, 'ClusterName'>;
export const ClusterName = branded<ClusterName>();

/** `spec.eksClusterName` of the AWSManagedControlPlane, or `spec.eksCluster.name` of the AWSFargateProfile. */
export type EksClusterName = Brand<string, 'EksClusterName'>;
export const EksClusterName = branded<EksClusterName>();

export type ProfileName = Brand<string, 'ProfileName'>;
export const ProfileName = branded<ProfileName>();

/** Without the role's path. */
export type RoleName = Brand<string, 'RoleName'>;
export const RoleName = branded<RoleName>();

export type RoleArn = Brand<string, 'RoleArn'>;
export const RoleArn = branded<RoleArn>();

/** Twelve digits. */
export type AccountId = Brand<string, 'AccountId'>;
export const AccountId = branded<AccountId>();
