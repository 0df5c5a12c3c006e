import type { EKSClient } from '@aws-sdk/client-eks';
import type { IAMClient } from '@aws-sdk/client-iam';
import type { STSClient } from '@aws-sdk/client-sts';
import type { RemoteAdmin } from '../admin/remote.ts';

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
  /** Returns AWS SDK clients that use the given access keys or region in place of the scenario's own. */
  readonly as: (change: { readonly keys?: SdkKeys; readonly region?: string }) => SdkClients;
}

/**
 * The AWS clients of a scenario that runs on the AWS emulator, with the admin functions that change AWS without an AWS
 * call.
 */
export interface EmulatedAws extends ConformanceAws {
  readonly admin: RemoteAdmin;
}

/**
 * A test of one behaviour of AWS through the AWS SDK. Each scenario runs on the AWS emulator, and also on moto (an AWS
 * mock server) unless moto lacks the behaviour.
 */
export type ConformanceScenario =
  | { readonly on: 'both'; readonly title: string; readonly run: (aws: ConformanceAws) => Promise<void> }
  | {
      readonly on: 'emulator';
      /** Why moto cannot run the scenario. */
      readonly because: string;
      readonly title: string;
      readonly run: (aws: EmulatedAws) => Promise<void>;
    };

export function both(title: string, run: (aws: ConformanceAws) => Promise<void>): ConformanceScenario {
  return { on: 'both', title, run };
}

export function emulatorOnly(
  title: string,
  because: string,
  run: (aws: EmulatedAws) => Promise<void>,
): ConformanceScenario {
  return { on: 'emulator', title, because, run };
}
