import type { ProfileIssue, EmulatedProfileStatus } from './resources.ts';

/** A delay in milliseconds, or a range from which the AWS emulator draws a new random delay for each use. */
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
 * Settings of the AWS emulator. Where AWS does not document the real behaviour, tests change the setting to show that
 * the product does not depend on the default.
 */
export interface Config {
  readonly eks: {
    readonly createMs: Delay;
    readonly deleteMs: Delay;
    readonly clusterCreateMs: Delay;
    readonly clusterDeleteMs: Delay;
    /**
     * How long EKS refuses DeleteFargateProfile and DeleteCluster with "an update in progress" after a profile became
     * ACTIVE, while DescribeCluster says ACTIVE. Users of EKS report more than ten minutes.
     */
    readonly updateAfterActiveMs: Delay;
    /**
     * Delay until DescribeFargateProfile shows a new profile. AWS does not document the delay, therefore 0 by default.
     */
    readonly describeAfterCreateMs: number;
    /** Delay until ListFargateProfiles shows a new profile. AWS does not document the delay, therefore 0 by default. */
    readonly listAfterCreateMs: number;
    readonly maxProfilesPerCluster: number;
    readonly maxSelectorsPerProfile: number;
    readonly maxLabelsPerSelector: number;
    /** The maximum page size of ListFargateProfiles. */
    readonly maxPageSize: number;
    /** The order of the checks in CreateFargateProfile. AWS does not document the order. */
    readonly createChecks: readonly ProfileCreateCheck[];
    /** What CreateFargateProfile does when its input names no subnets. AWS does not document this. */
    readonly emptySubnets: 'clusterPrivateSubnets' | 'refuse';
    /**
     * Whether CreateFargateProfile with the clientRequestToken of an earlier request returns the profile of that
     * request even after the profile has been deleted. AWS does not document this.
     */
    readonly tokenOutlivesProfile: boolean;
    /**
     * The statuses of Fargate profiles that block DeleteCluster, which AWS does not document: the error message of EKS
     * names only ACTIVE and CREATING.
     */
    readonly clusterDeletionBlockedBy: readonly EmulatedProfileStatus[];
    /**
     * Whether EKS refuses DeleteFargateProfile unless the cluster is ACTIVE or UPDATING, which AWS does not document.
     */
    readonly deleteNeedsActiveCluster: boolean;
    readonly unsupportedAvailabilityZones: readonly string[];
    /**
     * Whether CreateFargateProfile makes an access entry for a role whose access entry a client has deleted before. AWS
     * documents that EKS makes the entry for a role that has none. The behaviour after a deletion is not known.
     */
    readonly accessEntryMadeAnew: boolean;
  };
  readonly iam: {
    /** Delay until GetRole and the list operations of IAM show a new role. */
    readonly readAfterCreateMs: number;
    /** How long GetRole and the list operations of IAM still show a deleted role. */
    readonly readAfterDeleteMs: number;
    /**
     * Delay until GetRole and the list operations of IAM show a change of a role's tags, trust policy, boundary or
     * attachments.
     */
    readonly readAfterUpdateMs: number;
    /** Delay until IAM operations that change a role (attach, tag, delete) find a new role. */
    readonly writeAfterCreateMs: number;
    /** Delay until EKS sees a new IAM role or a changed trust policy. */
    readonly trustVisibleToEksMs: number;
    /** Delay until STS sees a new IAM role or a changed trust policy. */
    readonly trustVisibleToStsMs: number;
    readonly maxRoles: number;
    readonly maxPoliciesPerRole: number;
    readonly maxTagsPerRole: number;
    /** The maximum number of characters of a trust policy, without white space. */
    readonly maxTrustPolicySize: number;
    readonly maxPageSize: number;
  };
  /** Time from the arrival of a call at the AWS emulator until the emulator executes the call, in milliseconds. */
  readonly latencyMs: Delay;
  /**
   * The rate and size of the token buckets; each operation has one token bucket per account and region. Undefined: the
   * AWS emulator does not throttle.
   */
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
    accessEntryMadeAnew: true,
  },
  iam: {
    readAfterCreateMs: 0,
    readAfterDeleteMs: 0,
    readAfterUpdateMs: 0,
    writeAfterCreateMs: 0,
    trustVisibleToEksMs: 0,
    trustVisibleToStsMs: 0,
    // IAM's default quotas (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html).
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

/**
 * A test's request that creations or deletions of the selected Fargate profiles fail with the status CREATE_FAILED or
 * DELETE_FAILED.
 */
export interface PlannedFailure {
  readonly operation: 'create' | 'delete';
  readonly cluster?: string;
  readonly profile?: string;
  /**
   * How many creations or deletions of the selected profiles fail; undefined: all creations or deletions of these
   * profiles.
   */
  readonly times?: number;
  readonly issues: readonly ProfileIssue[];
}
