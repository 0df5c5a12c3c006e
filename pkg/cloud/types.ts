import type { Option } from 'fp-ts/lib/Option.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { AccountId, EksClusterName, ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import type { Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { AwsFailure } from './failure.ts';

/** The answer of one AWS call. */
export type Call<A> = TaskEither<AwsFailure, A>;

export interface Selector {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

export type ProfileStatus = 'CREATING' | 'ACTIVE' | 'DELETING' | 'CREATE_FAILED' | 'DELETE_FAILED';

export interface HealthIssue {
  readonly code: string;
  readonly message: string;
  readonly resourceIds: readonly string[];
}

/** A Fargate profile as EKS describes it. Lists and maps that EKS leaves out are empty. */
export interface FargateProfile {
  readonly name: ProfileName;
  readonly arn: string;
  readonly cluster: EksClusterName;
  /** A status word that is not known yet is kept as it is. */
  readonly status: ProfileStatus | (string & {});
  readonly podExecutionRoleArn: RoleArn;
  readonly subnets: readonly string[];
  readonly selectors: readonly Selector[];
  readonly tags: Readonly<Record<string, string>>;
  readonly health: readonly HealthIssue[];
}

/** EKS says ResourceNotFound for a missing profile and for a missing cluster: two different facts. */
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
  readonly subnets: readonly string[];
  readonly selectors: readonly Selector[];
  readonly tags: Readonly<Record<string, string>>;
}

/** What the manager calls of EKS for profiles. */
export interface FargateProfiles {
  describe(cluster: EksClusterName, name: ProfileName): Call<ProfileLookup>;
  /** All pages. */
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
  /** `API`, `API_AND_CONFIG_MAP` or `CONFIG_MAP`; absent where EKS does not say. */
  readonly authenticationMode?: string;
}

export interface EksClusters {
  describe(name: EksClusterName): Call<Option<EksCluster>>;
}

/** A role as IAM describes it; `trust` is decoded from its URL encoding, and is text because it may be no JSON at all. */
export interface Role {
  readonly name: RoleName;
  readonly arn: RoleArn;
  /** IAM's unique id (AROA…): a role made anew under the same name has another one. */
  readonly id: string;
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

/** What the manager calls of IAM. "NoSuchEntity" of `detach`, `untag` and `removeBoundary` is success: it is gone. */
export interface PodExecutionRoles {
  get(name: RoleName): Call<Option<Role>>;
  /** ARNs, all pages. */
  attachedPolicies(name: RoleName): Call<readonly string[]>;
  /** Names, all pages. */
  inlinePolicies(name: RoleName): Call<readonly string[]>;
  /** Names, all pages. */
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

/** One identity at work in one region. Its calls abort with the signal it was opened with. */
export interface Session {
  readonly account: AccountId;
  readonly region: string;
  readonly profiles: FargateProfiles;
  readonly clusters: EksClusters;
  readonly roles: PodExecutionRoles;
}

/** Whose credentials: the manager's own (`undefined` identityRef), or an AWSCluster…Identity named by the control plane. */
export interface IdentityRef {
  readonly kind: string;
  readonly name: string;
}

export interface SessionRequest {
  readonly region: string;
  readonly identity: IdentityRef | undefined;
  /** The namespace that asks, for `allowedNamespaces`. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /**
   * How long a mutation may take from now, in ms: the smaller of 10 s and what is left of the lease less 2 s. Asked
   * synchronously right before each dispatch; 0 or less and the call is not sent (`NotDispatched`).
   */
  readonly mutationBudget: () => Ms;
  /** This pass only looks whether something has finished: its reads give way to those of other passes. */
  readonly polling?: boolean;
  /** For the lines of its calls, with what tells the pass apart; without, the manager's. */
  readonly logger?: Logger;
}

/** What keeps credentials from being had. */
export type CredentialsProblemReason =
  /** The manager has none of its own. */
  | 'CredentialsMissing'
  /** AWS knows them not, or no longer. */
  | 'CredentialsInvalid'
  /** Whose they are could not be asked; `failure` says why. */
  | 'AccountUnknown'
  /** The caller's signal aborted first: this says nothing about the credentials. */
  | 'Interrupted'
  /** The API server does not let identities, namespaces or the Secret be read now. */
  | 'IdentityUnreadable'
  | 'IdentityNotFound'
  /** `allowedNamespaces` of an identity of the chain. */
  | 'IdentityNotAllowed'
  | 'IdentityLoop'
  /** It cannot be understood as it stands. */
  | 'IdentityInvalid'
  | 'SecretNotFound'
  | 'SecretIncomplete'
  /** AWS does not let the role be assumed, or there is no such role: it does not tell which. */
  | 'AssumeRoleDenied'
  /** AWS does not take the request as the identity words it. */
  | 'AssumeRoleRefused'
  /** AWS gave no usable answer; `failure` says which. */
  | 'AssumeRoleFailed';

/** Why there is no session. `message` is what is the matter, without a full stop, and never holds a secret. */
export interface CredentialsProblem {
  readonly reason: CredentialsProblemReason;
  readonly message: string;
  readonly failure?: AwsFailure;
}

export interface Sessions {
  open(request: SessionRequest): TaskEither<CredentialsProblem, Session>;
}
