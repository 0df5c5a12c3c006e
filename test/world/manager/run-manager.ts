import { type ProgramResult, runProgram } from '../../support/run-program.ts';
import { MANAGER } from './manager.ts';

/** The folder in which Node.js caches compiled code. With it, the manager starts in two thirds of the time. */
const COMPILE_CACHE = process.env['NODE_COMPILE_CACHE'];

/**
 * Runs the built manager until it exits. The process cannot read the home directory or the AWS settings of the user who
 * runs the tests.
 */
export const runManagerCommand = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramResult> =>
  runProgram(process.execPath, [MANAGER, ...args], {
    name: 'manager',
    env: {
      HOME: '/nonexistent',
      AWS_EC2_METADATA_DISABLED: 'true',
      ...(COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: COMPILE_CACHE }),
      ...env,
    },
  });
