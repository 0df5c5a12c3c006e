export type EmulatedProfileStatus = 'CREATING' | 'ACTIVE' | 'DELETING' | 'CREATE_FAILED' | 'DELETE_FAILED';
export type ClusterStatus = 'CREATING' | 'ACTIVE' | 'DELETING' | 'FAILED' | 'UPDATING' | 'PENDING';
export type AuthenticationMode = 'API' | 'API_AND_CONFIG_MAP' | 'CONFIG_MAP';
export type TagMap = Readonly<Record<string, string>>;

export interface ProfileIssue {
  readonly code: string;
  readonly message: string;
  readonly resourceIds: readonly string[];
}

export interface ProfileSelector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The next status change of a Fargate profile, at the time `at` in milliseconds since the epoch. */
export interface ProfileTransition {
  readonly at: number;
  readonly to: 'ACTIVE' | 'CREATE_FAILED' | 'DELETE_FAILED' | 'gone';
  readonly issues: readonly ProfileIssue[];
}

export interface EmulatedProfile {
  readonly name: string;
  readonly arn: string;
  readonly createdAt: number;
  readonly podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: readonly ProfileSelector[];
  /**
   * Whether a test or another AWS user, and not the manager, created the Fargate profile. The check for resources that
   * the manager has left behind ignores a foreign profile.
   */
  readonly foreign: boolean;
  status: EmulatedProfileStatus;
  tags: TagMap;
  issues: readonly ProfileIssue[];
  /** The next status change of the Fargate profile; undefined: the profile keeps its status. */
  transition?: ProfileTransition;
}

export type UpdateRefusal = 'create' | 'delete' | 'deleteCluster';

/**
 * A period in which EKS refuses operations with the error "an update in progress", although the cluster's status shows
 * no update.
 */
export interface UpdateWindow {
  readonly until: number;
  readonly refuses: readonly UpdateRefusal[];
}

/** An access entry of type FARGATE_LINUX, which gives a pod execution role access to an EKS cluster. */
export interface EmulatedAccessEntry {
  readonly principalArn: string;
  /**
   * The unique id that the role had when the access entry was created; undefined: the account had no such role. No EKS
   * operation shows this id. A role that is deleted and created again has another id, so the entry gives it no access.
   */
  readonly principalId: string | undefined;
  readonly arn: string;
  readonly createdAt: number;
  /**
   * Whether the access entry belongs to a test and not to the manager. An access entry that EKS created belongs to the
   * owner of its role. The check for resources that the manager has left behind ignores the access entries of tests.
   */
  readonly foreign: boolean;
}

export interface EmulatedCluster {
  readonly name: string;
  readonly arn: string;
  readonly createdAt: number;
  readonly roleArn: string;
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly profiles: Map<string, EmulatedProfile>;
  readonly accessEntries: Map<string, EmulatedAccessEntry>;
  /** The ARNs of the principals whose access entry a client has deleted. */
  readonly deletedAccessEntries: Set<string>;
  /** The ARNs of the roles that the ConfigMap aws-auth of the EKS cluster lists as roles of Fargate nodes. */
  awsAuthRoleArns: readonly string[];
  readonly requests: Map<string, { readonly fingerprint: string; readonly profile: EmulatedProfile }>;
  status: ClusterStatus;
  authenticationMode: AuthenticationMode;
  /** `absent`: EKS leaves the field out of its answers, and the protection is off. */
  deletionProtection: boolean | 'absent';
  tags: TagMap;
  updates: readonly UpdateWindow[];
  /** The API server of the EKS cluster; undefined: no server runs at the cluster's endpoint. */
  apiServer?: { readonly endpoint: string; readonly certificateAuthority: string };
  /** When the cluster will be gone, in milliseconds since the epoch; undefined: EKS is not deleting it. */
  goneAt?: number;
}

export interface Subnet {
  readonly id: string;
  readonly vpcId: string;
  readonly availabilityZone: string;
  /** Whether the subnet has a route to an internet gateway. EKS refuses such a subnet for a Fargate profile. */
  readonly isPublic: boolean;
  readonly freeAddresses?: number;
}

/** The EKS clusters and the subnets of one account in one region. */
export interface EmulatedRegion {
  readonly name: string;
  readonly clusters: Map<string, EmulatedCluster>;
  readonly subnets: Map<string, Subnet>;
}

/**
 * The attributes of an IAM role that a client can change. Each change adds a new version of the attributes to the role.
 * Because IAM is eventually consistent, a read can return an older version.
 */
export interface RoleVersion {
  readonly since: number;
  readonly trustPolicy: string;
  readonly description: string;
  readonly permissionsBoundary?: string;
  readonly tags: TagMap;
  readonly attachedPolicies: readonly string[];
  readonly inlinePolicies: Readonly<Record<string, string>>;
}

export interface EmulatedRole {
  readonly name: string;
  readonly path: string;
  readonly arn: string;
  /** The unique id `AROA…` of the role; a role that is created again under the same name has another id. */
  readonly id: string;
  readonly createdAt: number;
  readonly foreign: boolean;
  /** The latest versions of the role's attributes, oldest first. The list is never empty. */
  versions: readonly RoleVersion[];
}

export interface InstanceProfile {
  readonly name: string;
  readonly arn: string;
  readonly id: string;
  readonly path: string;
  readonly createdAt: number;
  roles: readonly string[];
}

export interface EmulatedAccount {
  readonly id: string;
  readonly partition: string;
  readonly regions: Map<string, EmulatedRegion>;
  /** The IAM roles by their names in lower case, because IAM refuses two role names that differ only in case. */
  readonly roles: Map<string, EmulatedRole>;
  /**
   * Deleted IAM roles that reads still find for some time, because IAM is eventually consistent. The keys are the role
   * names in lower case.
   */
  readonly ghosts: Map<string, { readonly role: EmulatedRole; readonly deletedAt: number }>;
  /** The ARNs of the account's customer managed policies. */
  readonly policies: Set<string>;
  readonly instanceProfiles: Map<string, InstanceProfile>;
}

/** An event that AWS permits but the manager must never cause: a role is deleted while a Fargate profile uses it. */
export interface Incident {
  readonly at: number;
  readonly kind: 'roleDeletedUnderProfile';
  readonly subject: string;
  readonly detail: string;
}
