/** A delay in milliseconds, or a range from which the AWS emulator draws a new random delay for each use. */
export type Delay = number | readonly [from: number, to: number];

/**
 * Settings of the AWS emulator. For delays that AWS does not document, tests change the setting, to show that the
 * manager does not depend on the default.
 */
export interface Config {
  readonly eks: {
    readonly createMs: Delay;
    readonly deleteMs: Delay;
    readonly clusterDeleteMs: Delay;
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
    /** The emulator refuses further profiles. The value that Service Quotas returns is `quotas.profilesPerCluster`. */
    readonly maxProfilesPerCluster: number;
    /**
     * Whether CreateFargateProfile creates an access entry for a role whose earlier access entry a client has deleted.
     * AWS documents only that EKS creates an entry for a role that has none.
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
    readonly maxRoles: number;
  };
  /**
   * The values that Service Quotas and CloudWatch return, in every account and region; undefined: they return no value.
   */
  readonly quotas: {
    readonly profilesPerCluster?: number;
    readonly fargateVCpus?: number;
    readonly fargateVCpusInUse?: number;
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
    clusterDeleteMs: 2_000,
    describeAfterCreateMs: 0,
    listAfterCreateMs: 0,
    maxProfilesPerCluster: 10,
    accessEntryMadeAnew: true,
  },
  iam: {
    readAfterCreateMs: 0,
    readAfterDeleteMs: 0,
    readAfterUpdateMs: 0,
    writeAfterCreateMs: 0,
    trustVisibleToEksMs: 0,
    // IAM's default quota (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html).
    maxRoles: 1_000,
  },
  quotas: { profilesPerCluster: 10, fargateVCpus: 4_000, fargateVCpusInUse: 12.25 },
  latencyMs: 0,
};

export type ConfigPatch = Partial<Omit<Config, 'eks' | 'iam'>> & {
  readonly eks?: Partial<Config['eks']>;
  readonly iam?: Partial<Config['iam']>;
};

export function withConfig(config: Config, patch: ConfigPatch): Config {
  return { ...config, ...patch, eks: { ...config.eks, ...patch.eks }, iam: { ...config.iam, ...patch.iam } };
}
