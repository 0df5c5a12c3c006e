import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { AccountId, EksClusterName, ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import type { Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { AwsFailure } from './errors/failure.ts';

/** One AWS call, which returns its response or its failure. */
export type Call<A> = TaskEither<AwsFailure, A>;

export interface FargateSelector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

export type ProfileStatus = 'CREATING' | 'ACTIVE' | 'DELETING' | 'CREATE_FAILED' | 'DELETE_FAILED';

export interface HealthIssue {
  readonly code: string;
  readonly message: string;
  readonly resourceIds: readonly string[];
}

/** A Fargate profile as EKS describes it. A list or map that EKS omits is empty. */
export interface FargateProfile {
  readonly name: ProfileName;
  readonly arn: string;
  readonly cluster: EksClusterName;
  /** The status of the Fargate profile: a status that the manager knows, or a status that EKS has introduced later. */
  readonly status: ProfileStatus | (string & {});
  readonly podExecutionRoleArn: RoleArn;
  readonly subnets: readonly string[];
  readonly selectors: readonly FargateSelector[];
  readonly tags: Readonly<Record<string, string>>;
  readonly health: readonly HealthIssue[];
}

/**
 * The result of DescribeFargateProfile. EKS uses the error ResourceNotFound for a missing profile and for a missing
 * cluster; the message distinguishes them.
 */
export type ProfileLookup =
  | { readonly kind: 'found'; readonly profile: FargateProfile }
  | { readonly kind: 'absent' }
  | { readonly kind: 'clusterGone' };

export type ProfileListing =
  { readonly kind: 'listed'; readonly names: readonly ProfileName[] } | { readonly kind: 'clusterGone' };

export interface NewFargateProfile {
  readonly cluster: EksClusterName;
  readonly name: ProfileName;
  readonly podExecutionRoleArn: RoleArn;
  /** The ids of the subnets; empty: EKS chooses the private subnets of the cluster. */
  readonly subnets: readonly string[];
  readonly selectors: readonly FargateSelector[];
  readonly tags: Readonly<Record<string, string>>;
}

/** EKS's API for Fargate profiles. */
export interface FargateProfiles {
  describe(cluster: EksClusterName, name: ProfileName): Call<ProfileLookup>;
  /** Reads all pages of the cluster's list of profiles. */
  list(cluster: EksClusterName): Call<ProfileListing>;
  create(profile: NewFargateProfile): Call<FargateProfile>;
  delete(cluster: EksClusterName, name: ProfileName): Call<void>;
  tag(arn: string, tags: Readonly<Record<string, string>>): Call<void>;
  untag(arn: string, keys: readonly string[]): Call<void>;
}

export interface EksCluster {
  readonly name: EksClusterName;
  readonly arn: string;
  readonly status: string;
  /**
   * The authentication mode of the EKS cluster: `API`, `API_AND_CONFIG_MAP` or `CONFIG_MAP`; undefined if EKS omits it.
   */
  readonly authenticationMode?: string;
}

export interface EksClusters {
  describe(name: EksClusterName): Call<EksCluster | undefined>;
}

/**
 * An access entry of an EKS cluster, as EKS describes it. An entry is bound to the unique id of a role, but EKS does
 * not show this id.
 */
export interface AccessEntry {
  readonly principalArn: RoleArn;
  /** The type: `FARGATE_LINUX` for the entries that EKS makes for Fargate profiles. */
  readonly type: string;
  /** When the entry was created, in milliseconds since 1970. */
  readonly createdAt: Ms;
}

export type AccessEntryLookup =
  | { readonly kind: 'found'; readonly entry: AccessEntry }
  | { readonly kind: 'absent' }
  | { readonly kind: 'clusterGone' };

/** EKS's API for the access entries of pod execution roles. */
export interface AccessEntries {
  describe(cluster: EksClusterName, principal: RoleArn): Call<AccessEntryLookup>;
  /** Creates an access entry of type `FARGATE_LINUX`, the type for pod execution roles. */
  create(cluster: EksClusterName, principal: RoleArn): Call<AccessEntry>;
  delete(cluster: EksClusterName, principal: RoleArn): Call<void>;
}

/**
 * A role as IAM describes it. The trust policy `trust` is URL-decoded; it is text, because it is not always valid JSON.
 */
export interface Role {
  readonly name: RoleName;
  readonly arn: RoleArn;
  /** IAM's unique ID of the role (AROA…). A role that is deleted and created again gets a new ID. */
  readonly id: string;
  /** When the role was created, in milliseconds since 1970. IAM gives the time in whole seconds. */
  readonly createdAt: Ms;
  readonly path: string;
  readonly trust: string;
  readonly permissionsBoundary?: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface NewRole {
  readonly name: RoleName;
  readonly path: string;
  readonly trust: string;
  readonly permissionsBoundary?: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** IAM's API for roles. `detach`, `untag` and `removeBoundary` succeed when IAM responds NoSuchEntity. */
export interface PodExecutionRoles {
  get(name: RoleName): Call<Role | undefined>;
  /** Returns the ARNs of all managed policies that are attached to the role, from all pages. */
  attachedPolicies(name: RoleName): Call<readonly string[]>;
  /** Returns the names of all inline policies of the role, from all pages. */
  inlinePolicies(name: RoleName): Call<readonly string[]>;
  /** Returns the names of all instance profiles of the role, from all pages. */
  instanceProfiles(name: RoleName): Call<readonly string[]>;
  create(role: NewRole): Call<Role>;
  delete(name: RoleName): Call<void>;
  setTrust(name: RoleName, trust: string): Call<void>;
  setBoundary(name: RoleName, policyArn: string): Call<void>;
  removeBoundary(name: RoleName): Call<void>;
  attach(name: RoleName, policyArn: string): Call<void>;
  detach(name: RoleName, policyArn: string): Call<void>;
  tag(name: RoleName, tags: Readonly<Record<string, string>>): Call<void>;
  untag(name: RoleName, keys: readonly string[]): Call<void>;
}

/**
 * An AWS session: AWS access with one identity in one region. The signal of the {@link SessionRequest} aborts the
 * session's calls.
 */
export interface Session {
  readonly account: AccountId;
  readonly region: string;
  readonly profiles: FargateProfiles;
  readonly clusters: EksClusters;
  readonly accessEntries: AccessEntries;
  readonly roles: PodExecutionRoles;
}

/**
 * The `identityRef` of a control plane or of `spec.eksCluster`, which names an AWSCluster…Identity. Without an
 * `identityRef` the manager's own credentials are used.
 */
export interface IdentityRef {
  readonly kind: string;
  readonly name: string;
}

/**
 * The field in which a user names the identity: `spec.identityRef` of the control plane, or
 * `spec.eksCluster.identityRef`.
 */
export type IdentityField = 'controlPlane' | 'eksCluster';

export interface SessionRequest {
  readonly region: string;
  readonly identity: IdentityRef | undefined;
  /** The field that names the identity, for error messages; default: `spec.identityRef` of the control plane. */
  readonly identityField?: IdentityField;
  /** The namespace of the reconciled object, which the identity's `allowedNamespaces` must allow. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /**
   * Returns how long a mutation (a call that changes AWS) may take from now: 10 s, but at most the remaining time of
   * the leader's lease minus 2 s. Called synchronously right before each mutation is sent. With 0 or less the mutation
   * is not sent (`NotDispatched`).
   */
  readonly mutationBudget: () => Ms;
  /**
   * True: this reconcile only checks whether a change in AWS has finished, so the rate limiter gives its reads the
   * lowest priority.
   */
  readonly polling?: boolean;
  /** The logger of the reconcile, for its AWS calls; undefined: the manager's logger. */
  readonly logger?: Logger;
}

/** The reasons for which an AWS session cannot be opened. */
export type CredentialsProblemReason =
  /** The manager has no AWS credentials. */
  | 'CredentialsMissing'
  /** AWS rejects the credentials: they are wrong, deleted or expired. */
  | 'CredentialsInvalid'
  /** The account of the credentials could not be looked up (see `failure`), or has changed during the reconcile. */
  | 'AccountUnknown'
  /** The requested region cannot be the name of an AWS region. */
  | 'RegionInvalid'
  /**
   * The signal of the {@link SessionRequest} aborted before the AWS session was opened. The credentials may be fine.
   */
  | 'Interrupted'
  /** The manager cannot read the identities, namespaces or the Secret of the credentials from the API server now. */
  | 'IdentityUnreadable'
  | 'IdentityNotFound'
  /** The `allowedNamespaces` of an identity in the chain of identities exclude the namespace of the object. */
  | 'IdentityNotAllowed'
  | 'IdentityLoop'
  /** The identity object (AWSCluster…Identity) has invalid fields. */
  | 'IdentityInvalid'
  | 'SecretNotFound'
  | 'SecretIncomplete'
  /** The role to assume does not exist, or does not trust the credentials; AWS uses the same error for both. */
  | 'AssumeRoleDenied'
  /** AWS rejects a parameter of AssumeRole that comes from the identity, e.g. its session policy. */
  | 'AssumeRoleRefused'
  /** STS AssumeRole failed or STS did not respond; see `failure`. */
  | 'AssumeRoleFailed';

/** Why an AWS session could not be opened. `message` is a clause without a full stop, and never contains a secret. */
export interface CredentialsProblem {
  readonly reason: CredentialsProblemReason;
  readonly message: string;
  readonly failure?: AwsFailure;
}

export interface Sessions {
  open(request: SessionRequest): TaskEither<CredentialsProblem, Session>;
}
