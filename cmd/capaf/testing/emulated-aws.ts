import type { Clock } from 'controller-runtime/env';
import type { AwsTransport } from '../../../pkg/cloud/index.ts';
import { AWS_ENDPOINTS } from '../../../pkg/cloud/testing/endpoints.ts';
import { Emulator } from '../../../test/aws/emulator.ts';
import { type AwsAccess, newAwsAccess } from '../aws.ts';

export const ACCOUNT = '123456789012';
export const REGION = 'eu-west-1';

/** Returns an AWS in which nothing takes time. */
export const newEmulator = (clock: Clock): Emulator =>
  new Emulator({
    clock: { now: () => clock.now(), sleep: async () => {} },
    keys: [{ accessKeyId: 'test', account: ACCOUNT }],
  });

/** Uses credentials of {@link ACCOUNT}. */
export const newAccess = (transport: AwsTransport, clock: Clock, region: string | undefined): AwsAccess =>
  newAwsAccess({
    clock,
    signal: new AbortController().signal,
    transport,
    endpoints: AWS_ENDPOINTS,
    credentials: { key: 'test', fetch: async () => ({ accessKeyId: 'test', secretAccessKey: 'test' }) },
    region,
  });
