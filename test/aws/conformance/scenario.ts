import type { EKSClient } from '@aws-sdk/client-eks';
import type { IAMClient } from '@aws-sdk/client-iam';
import type { STSClient } from '@aws-sdk/client-sts';
import type { RemoteAdmin } from '../remote.ts';

export interface Clients {
  readonly eks: EKSClient;
  readonly iam: IAMClient;
  readonly sts: STSClient;
}

export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** One AWS, freshly emptied, as a scenario meets it. */
export interface Aws extends Clients {
  readonly account: string;
  readonly region: string;
  /** Ids of two private subnets of one VPC. */
  readonly subnets: readonly string[];
  /** Clients of somebody else, or of the same caller elsewhere. */
  readonly as: (change: { readonly keys?: Keys; readonly region?: string }) => Clients;
}

/** The emulator, with the functions that no AWS has. */
export interface Emulated extends Aws {
  readonly admin: RemoteAdmin;
}

/** What AWS does, said through the SDK. */
export type Scenario =
  | { readonly on: 'both'; readonly title: string; readonly run: (aws: Aws) => Promise<void> }
  | {
      readonly on: 'emulator';
      /** Why moto cannot be asked. */
      readonly because: string;
      readonly title: string;
      readonly run: (aws: Emulated) => Promise<void>;
    };

export function both(title: string, run: (aws: Aws) => Promise<void>): Scenario {
  return { on: 'both', title, run };
}

export function emulatorOnly(title: string, because: string, run: (aws: Emulated) => Promise<void>): Scenario {
  return { on: 'emulator', title, because, run };
}
