import { expectNothingLeft } from '../../aws/admin/expect-nothing-left.ts';
import { type ConfigPatch, defaultConfig, withConfig } from '../../aws/model/config.ts';
import { type EmulatorServer, startServer } from '../../aws/transport/server.ts';

export const AWS_KEY = 'test';
export const ACCOUNT = '123456789012';
export const REGION = 'us-east-1';

/**
 * The time in milliseconds that the emulated EKS takes to create or delete a Fargate profile. It is long enough for
 * tests to see the statuses CREATING and DELETING. The real EKS takes minutes.
 */
const QUICK: ConfigPatch = { eks: { createMs: 300, deleteMs: 300 } };

export interface EmulatedAws extends EmulatorServer {
  /** @throws if AWS still has Fargate profiles or roles that the manager should have deleted */
  finish(): Promise<void>;
}

export async function startEmulatedAws(config: ConfigPatch): Promise<EmulatedAws> {
  const server = await startServer({
    keys: [{ accessKeyId: AWS_KEY, account: ACCOUNT }],
    config: withConfig(withConfig(defaultConfig, QUICK), config),
  });
  return { ...server, finish: () => expectNothingLeft(server.emulator.admin) };
}
