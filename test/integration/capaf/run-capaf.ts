import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { HANG_LIMIT_MS } from '../../support/hang-limit.ts';
import { type ProgramResult, runProgram } from '../../support/run-program.ts';
import { AWS_KEY, REGION, type World } from '../../world/world.ts';

export const PROGRAM = fileURLToPath(new URL('../../../dist/capaf.mjs', import.meta.url));

export interface CapafOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly stdin?: string;
}

/** The progress output of commands that take longer than a second. It depends on the speed of the machine. */
const PROGRESS = /^.* …\n/gm;

/** The environment of an administrator who uses the API server and the emulated AWS of the test. */
export const environmentOf = (world: World, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  HOME: '/nonexistent',
  KUBECONFIG: world.controlPlane.kubeconfigPath,
  AWS_ENDPOINT_URL: world.awsUrl,
  AWS_ACCESS_KEY_ID: AWS_KEY,
  AWS_SECRET_ACCESS_KEY: 'secret',
  AWS_REGION: REGION,
  AWS_EC2_METADATA_DISABLED: 'true',
  ...env,
});

/** Starts the built capaf, for a test that acts while it runs. */
export const spawnCapaf = (world: World, args: readonly string[]) =>
  spawn(process.execPath, [PROGRAM, ...args], { env: environmentOf(world, {}), timeout: HANG_LIMIT_MS });

/** Runs the built capaf as an administrator of the world would. */
export const runCapaf = async (
  world: World,
  args: readonly string[],
  { env = {}, stdin }: CapafOptions = {},
): Promise<ProgramResult> => {
  const result = await runProgram(process.execPath, [PROGRAM, ...args], {
    name: 'capaf',
    env: environmentOf(world, env),
    ...(stdin !== undefined && { stdin }),
  });
  return { ...result, stderr: result.stderr.replaceAll(PROGRESS, '') };
};
