import type { EKSClient } from '@aws-sdk/client-eks';
import type { IAMClient } from '@aws-sdk/client-iam';
import type { STSClient } from '@aws-sdk/client-sts';

export interface SdkClients {
  readonly eks: EKSClient;
  readonly iam: IAMClient;
  readonly sts: STSClient;
}

export interface SdkKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * The AWS clients and settings that a conformance scenario gets. When the scenario begins, its AWS account has no EKS
 * cluster and no role.
 */
export interface ConformanceAws extends SdkClients {
  readonly account: string;
  readonly region: string;
  /** The ids of two private subnets of one VPC. */
  readonly subnets: readonly string[];
  /** Creates the EKS cluster `c` with these subnets. */
  readonly createCluster: () => Promise<void>;
  /** Returns AWS SDK clients that use the given access keys or region in place of the scenario's own. */
  readonly as: (change: { readonly keys?: SdkKeys; readonly region?: string }) => SdkClients;
}

/** A test of one behavior of AWS through the AWS SDK. It runs on the AWS emulator and on moto, an AWS mock server. */
export interface ConformanceScenario {
  readonly title: string;
  readonly run: (aws: ConformanceAws) => Promise<void>;
}

export const scenario = (title: string, run: ConformanceScenario['run']): ConformanceScenario => ({ title, run });
