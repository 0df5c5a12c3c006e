import type { Ms } from 'controller-runtime/env';
import type { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import type { Call } from '../call/call.ts';

export interface FargateSelector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** EKS may omit empty lists and maps. They are always present here. */
export interface FargateProfile {
  readonly name: ProfileName;
  readonly arn: string;
  readonly cluster: EksClusterName;
  /** Can also be a status that EKS has introduced after this list was written. */
  readonly status: 'CREATING' | 'ACTIVE' | 'DELETING' | 'CREATE_FAILED' | 'DELETE_FAILED' | (string & {});
  readonly podExecutionRoleArn: RoleArn;
  readonly subnets: readonly string[];
  readonly selectors: readonly FargateSelector[];
  readonly tags: Readonly<Record<string, string>>;
  /** When EKS received the request to create the profile, in ms since 1970. */
  readonly createdAt?: Ms;
  readonly health: readonly {
    readonly code: string;
    readonly message: string;
    readonly resourceIds: readonly string[];
  }[];
}

/** EKS's error ResourceNotFound means a missing resource or a missing cluster. The message distinguishes them. */
export type Missing = { readonly kind: 'absent' } | { readonly kind: 'clusterGone' };

export type ProfileLookup = { readonly kind: 'found'; readonly profile: FargateProfile } | Missing;

export type ProfileListing =
  { readonly kind: 'listed'; readonly names: readonly ProfileName[] } | { readonly kind: 'clusterGone' };

/** If `subnets` is empty, EKS chooses the cluster's private subnets. */
export type NewFargateProfile = Pick<
  FargateProfile,
  'cluster' | 'name' | 'podExecutionRoleArn' | 'subnets' | 'selectors' | 'tags'
>;

export interface FargateProfiles {
  describe(cluster: EksClusterName, name: ProfileName): Call<ProfileLookup>;
  list(cluster: EksClusterName): Call<ProfileListing>;
  create(profile: NewFargateProfile): Call<FargateProfile>;
  delete(cluster: EksClusterName, name: ProfileName): Call<void>;
  tag(arn: string, tags: Readonly<Record<string, string>>): Call<void>;
  untag(arn: string, keys: readonly string[]): Call<void>;
}

export interface EksCluster {
  readonly status: string;
  /** `API`, `API_AND_CONFIG_MAP`, or `CONFIG_MAP`; undefined if EKS omits it. */
  readonly authenticationMode?: string;
  readonly deletionProtection?: boolean;
  /** The URL of the cluster's API server; undefined while EKS creates the cluster. */
  readonly endpoint?: string;
  /** PEM in base64. */
  readonly certificateAuthority?: string;
  /** EKS creates this security group for the cluster, and Fargate assigns it to pods. */
  readonly securityGroup?: string;
}

export interface EksClusters {
  describe(name: EksClusterName): Call<EksCluster | undefined>;
}

/** Gives a role access to a cluster. EKS binds the entry to the role's unique ID, but does not return this ID. */
export interface AccessEntry {
  /** `FARGATE_LINUX` for the entries that EKS creates for Fargate profiles. */
  readonly type: string;
  /** In ms since 1970. */
  readonly createdAt: Ms;
}

export type AccessEntryLookup = { readonly kind: 'found'; readonly entry: AccessEntry } | Missing;

/** The access entries of pod execution roles. */
export interface AccessEntries {
  describe(cluster: EksClusterName, principal: RoleArn): Call<AccessEntryLookup>;
  /** Creates an entry of type `FARGATE_LINUX`, the type for pod execution roles. */
  create(cluster: EksClusterName, principal: RoleArn): Call<void>;
  delete(cluster: EksClusterName, principal: RoleArn): Call<void>;
}
