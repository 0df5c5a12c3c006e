export type ProfileStatus = 'CREATING' | 'ACTIVE' | 'DELETING' | 'CREATE_FAILED' | 'DELETE_FAILED';
export type ClusterStatus = 'CREATING' | 'ACTIVE' | 'DELETING' | 'FAILED' | 'UPDATING' | 'PENDING';
export type AuthenticationMode = 'API' | 'API_AND_CONFIG_MAP' | 'CONFIG_MAP';
export type Tags = Readonly<Record<string, string>>;

export interface HealthIssue {
  readonly code: string;
  readonly message: string;
  readonly resourceIds: readonly string[];
}

export interface Selector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Where a profile goes by itself, and when (milliseconds since the epoch). */
export interface ProfileTransition {
  readonly at: number;
  readonly to: 'ACTIVE' | 'CREATE_FAILED' | 'DELETE_FAILED' | 'gone';
  readonly issues: readonly HealthIssue[];
}

export interface Profile {
  readonly name: string;
  readonly arn: string;
  readonly createdAt: number;
  readonly podExecutionRoleArn: string;
  readonly subnets: readonly string[];
  readonly selectors: readonly Selector[];
  /** Made by a test or a stranger, so no leak when it is still there at the end. */
  readonly foreign: boolean;
  status: ProfileStatus;
  tags: Tags;
  issues: readonly HealthIssue[];
  /** Absent: stays as it is. */
  transition?: ProfileTransition;
}

export type Refusable = 'create' | 'delete' | 'deleteCluster';

/** A time in which EKS refuses with "an update in progress" although the cluster's status does not say so. */
export interface UpdateWindow {
  readonly until: number;
  readonly refuses: readonly Refusable[];
}

export interface Cluster {
  readonly name: string;
  readonly arn: string;
  readonly createdAt: number;
  readonly roleArn: string;
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly foreign: boolean;
  readonly profiles: Map<string, Profile>;
  readonly requests: Map<string, { readonly fingerprint: string; readonly profile: Profile }>;
  status: ClusterStatus;
  version: string;
  authenticationMode: AuthenticationMode;
  tags: Tags;
  nodegroupRoleArns: readonly string[];
  updates: readonly UpdateWindow[];
  transition?: { readonly at: number; readonly to: 'ACTIVE' | 'gone' };
}

export interface Subnet {
  readonly id: string;
  readonly vpcId: string;
  readonly availabilityZone: string;
  /** Has a route to an internet gateway. */
  readonly isPublic: boolean;
}

/** One region of one account. */
export interface Region {
  readonly name: string;
  readonly clusters: Map<string, Cluster>;
  readonly subnets: Map<string, Subnet>;
}

/** What of a role can change. A change makes a new version; readers that lag see an older one. */
export interface RoleVersion {
  readonly since: number;
  readonly trustPolicy: string;
  readonly description: string;
  /** Seconds. */
  readonly maxSessionDuration: number;
  readonly permissionsBoundary?: string;
  readonly tags: Tags;
  readonly attachedPolicies: readonly string[];
  readonly inlinePolicies: Readonly<Record<string, string>>;
}

export interface Role {
  readonly name: string;
  readonly path: string;
  readonly arn: string;
  /** `AROA…`; a role made anew under an old name has another one. */
  readonly id: string;
  readonly createdAt: number;
  readonly foreign: boolean;
  /** Oldest first, never empty. */
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

export interface Account {
  readonly id: string;
  readonly partition: string;
  readonly regions: Map<string, Region>;
  /** By lower-cased name: IAM names are unique ignoring case. */
  readonly roles: Map<string, Role>;
  /** Deleted roles that lagging readers still see. */
  readonly ghosts: Map<string, { readonly role: Role; readonly deletedAt: number }>;
  /** ARNs of customer managed policies. */
  readonly policies: Set<string>;
  readonly instanceProfiles: Map<string, InstanceProfile>;
}

/** Something that must never happen and that AWS itself lets happen. */
export interface Incident {
  readonly at: number;
  readonly kind: 'roleDeletedUnderProfile';
  readonly subject: string;
  readonly detail: string;
}
