import type { EmulatedProfileStatus } from './resources.ts';

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
 * Settings of the AWS emulator. For behaviour that AWS does not document, tests change the setting, to show that the
 * manager does not depend on the default.
 */
export interface Config {
  readonly eks: {
    readonly createMs: Delay;
    readonly deleteMs: Delay;
    readonly clusterCreateMs: Delay;
    readonly clusterDeleteMs: Delay;
    /**
     * The time in milliseconds for which EKS refuses DeleteFargateProfile and DeleteCluster with "an update in
     * progress" after a Fargate profile has become ACTIVE. In this time, DescribeCluster says ACTIVE. Users of EKS
     * report that EKS refuses these operations for more than ten minutes.
     */
    readonly updateAfterActiveMs: Delay;
    /**
     * The time in milliseconds from the creation of a Fargate profile until DescribeFargateProfile shows it. AWS
     * documents no delay, therefore the default is 0.
     */
    readonly describeAfterCreateMs: number;
    /**
     * The time in milliseconds from the creation of a Fargate profile until ListFargateProfiles shows it. AWS documents
     * no delay, therefore the default is 0.
     */
    readonly listAfterCreateMs: number;
    readonly maxProfilesPerCluster: number;
    readonly maxSelectorsPerProfile: number;
    readonly maxLabelsPerSelector: number;
    /** The maximum page size of ListFargateProfiles. */
    readonly maxPageSize: number;
    /**
     * The order in which CreateFargateProfile makes its checks. AWS does not document the order. EKS returns the error
     * of the first check that fails.
     */
    readonly createChecks: readonly ProfileCreateCheck[];
    /** The behaviour of CreateFargateProfile without subnets in its input, which AWS does not document. */
    readonly emptySubnets: 'clusterPrivateSubnets' | 'refuse';
    /**
     * Whether CreateFargateProfile with the clientRequestToken of an earlier request returns the profile of that
     * request even after the profile has been deleted. AWS does not document this.
     */
    readonly tokenOutlivesProfile: boolean;
    /**
     * The statuses in which a Fargate profile blocks DeleteCluster. AWS does not document them: the error message of
     * EKS names only ACTIVE and CREATING.
     */
    readonly clusterDeletionBlockedBy: readonly EmulatedProfileStatus[];
    /**
     * Whether EKS refuses DeleteFargateProfile unless the cluster is ACTIVE or UPDATING. AWS does not document this.
     */
    readonly deleteNeedsActiveCluster: boolean;
    readonly unsupportedAvailabilityZones: readonly string[];
    /**
     * Whether CreateFargateProfile makes an access entry for a role whose earlier access entry a client has deleted.
     * AWS documents only that EKS makes the entry for a role that has none.
     */
    readonly accessEntryMadeAnew: boolean;
  };
  readonly iam: {
    /**
     * The time in milliseconds from the creation of a role until GetRole and the list operations of IAM show the role.
     */
    readonly readAfterCreateMs: number;
    /** The time in milliseconds for which GetRole and the list operations of IAM still show a deleted role. */
    readonly readAfterDeleteMs: number;
    /**
     * The time in milliseconds until GetRole and the list operations of IAM show a change of a role's tags, trust
     * policy, permissions boundary or attached policies.
     */
    readonly readAfterUpdateMs: number;
    /**
     * The time in milliseconds from the creation of a role until the IAM operations that change a role (attach, tag,
     * delete) find the role.
     */
    readonly writeAfterCreateMs: number;
    /** The time in milliseconds until EKS sees a new IAM role or a changed trust policy. */
    readonly trustVisibleToEksMs: number;
    /** The time in milliseconds until STS sees a new IAM role or a changed trust policy. */
    readonly trustVisibleToStsMs: number;
    readonly maxRoles: number;
    readonly maxPoliciesPerRole: number;
    readonly maxTagsPerRole: number;
    /** The maximum number of characters of a trust policy, without white space. */
    readonly maxTrustPolicySize: number;
    readonly maxPageSize: number;
  };
  /**
   * The time in milliseconds from the arrival of an AWS call at the AWS emulator until the emulator executes the call.
   */
  readonly latencyMs: Delay;
  /**
   * The rate and size of the token buckets with which AWS calls are throttled; undefined: the AWS emulator does not
   * throttle. Each operation of EKS and STS has one token bucket per account and region. Each operation of IAM has one
   * token bucket per account.
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
