import type { HealthIssue, ProfileStatus } from './state.ts';

/** Milliseconds, or a range from which every operation draws its own. */
export type Delay = number | readonly [from: number, to: number];

const profileCreateChecks = [
  'clusterActive',
  'duplicateName',
  'siblingBusy',
  'clusterUpdating',
  'quota',
  'subnets',
  'role',
] as const;
export type ProfileCreateCheck = (typeof profileCreateChecks)[number];

/**
 * What a test may turn. Values marked "unknown" are not documented by AWS; they are switches so that a suite can show
 * that nothing rests on the default.
 */
export interface Config {
  readonly eks: {
    readonly createMs: Delay;
    readonly deleteMs: Delay;
    readonly clusterCreateMs: Delay;
    readonly clusterDeleteMs: Delay;
    /**
     * After a profile became ACTIVE, how long EKS goes on to refuse DeleteFargateProfile and DeleteCluster with "an
     * update in progress" although DescribeCluster says ACTIVE. Users report more than ten minutes.
     */
    readonly updateAfterActiveMs: Delay;
    /** How late Describe and List see a new profile. Unknown, therefore 0. */
    readonly describeAfterCreateMs: number;
    readonly listAfterCreateMs: number;
    readonly maxProfilesPerCluster: number;
    readonly maxSelectorsPerProfile: number;
    readonly maxLabelsPerSelector: number;
    /** The largest page of ListFargateProfiles, whatever was asked for. */
    readonly maxPageSize: number;
    /** The order in which CreateFargateProfile refuses. Unknown. */
    readonly createChecks: readonly ProfileCreateCheck[];
    /** What a create without subnets gets. Unknown. */
    readonly emptySubnets: 'clusterPrivateSubnets' | 'refuse';
    /** Whether a known clientRequestToken still answers when the profile that it made is gone. Unknown. */
    readonly tokenOutlivesProfile: boolean;
    /** Profile statuses that make DeleteCluster fail. The message names only ACTIVE and CREATING; unknown. */
    readonly clusterDeletionBlockedBy: readonly ProfileStatus[];
    /** Whether DeleteFargateProfile needs the cluster to be ACTIVE. Unknown. */
    readonly deleteNeedsActiveCluster: boolean;
    readonly unsupportedAvailabilityZones: readonly string[];
  };
  readonly iam: {
    /** How late GetRole and the lists see a new role. */
    readonly readAfterCreateMs: number;
    /** How long GetRole and the lists still show a deleted role. */
    readonly readAfterDeleteMs: number;
    /** How late GetRole and the lists see a change of a role (tags, trust, boundary, attachments). */
    readonly readAfterUpdateMs: number;
    /** How late a mutation of a new role (attach, tag, delete) finds it. */
    readonly writeAfterCreateMs: number;
    /** How late EKS sees a new role or a changed trust policy. */
    readonly trustVisibleToEksMs: number;
    /** How late STS sees a new role or a changed trust policy. */
    readonly trustVisibleToStsMs: number;
    readonly maxRoles: number;
    readonly maxPoliciesPerRole: number;
    readonly maxTagsPerRole: number;
    /** Characters of a trust policy, white space not counted. */
    readonly maxTrustPolicySize: number;
    readonly maxPageSize: number;
  };
  /** How long every call takes before it has its effect. */
  readonly latencyMs: Delay;
  /** One token bucket per account and operation; absent: none. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number };
}

export const defaultConfig: Config = {
  eks: {
    createMs: 2_000,
    deleteMs: 2_000,
    clusterCreateMs: 2_000,
    clusterDeleteMs: 2_000,
    updateAfterActiveMs: 0,
    describeAfterCreateMs: 0,
    listAfterCreateMs: 0,
    maxProfilesPerCluster: 10,
    maxSelectorsPerProfile: 5,
    maxLabelsPerSelector: 5,
    maxPageSize: 100,
    createChecks: profileCreateChecks,
    emptySubnets: 'clusterPrivateSubnets',
    tokenOutlivesProfile: false,
    clusterDeletionBlockedBy: ['CREATING', 'ACTIVE', 'DELETING', 'CREATE_FAILED', 'DELETE_FAILED'],
    deleteNeedsActiveCluster: false,
    unsupportedAvailabilityZones: [],
  },
  iam: {
    readAfterCreateMs: 0,
    readAfterDeleteMs: 0,
    readAfterUpdateMs: 0,
    writeAfterCreateMs: 0,
    trustVisibleToEksMs: 0,
    trustVisibleToStsMs: 0,
    // Default quotas of IAM: roles per account, managed policies per role, tags per role, trust policy length.
    maxRoles: 1_000,
    maxPoliciesPerRole: 10,
    maxTagsPerRole: 50,
    maxTrustPolicySize: 2_048,
    maxPageSize: 100,
  },
  latencyMs: 0,
};

export type ConfigPatch = Partial<Omit<Config, 'eks' | 'iam'>> & {
  readonly eks?: Partial<Config['eks']>;
  readonly iam?: Partial<Config['iam']>;
};

export function withConfig(config: Config, patch: ConfigPatch): Config {
  return { ...config, ...patch, eks: { ...config.eks, ...patch.eks }, iam: { ...config.iam, ...patch.iam } };
}

/** Makes the next creates or deletes that match end in CREATE_FAILED or DELETE_FAILED. */
export interface PlannedFailure {
  readonly operation: 'create' | 'delete';
  readonly cluster?: string;
  readonly profile?: string;
  /** How many operations fail; absent: all. */
  readonly times?: number;
  readonly issues: readonly HealthIssue[];
}
