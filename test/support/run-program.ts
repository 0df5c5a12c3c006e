import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { HANG_LIMIT_MS } from './hang-limit.ts';

export interface ProgramOptions {
  /** The name of the program in error messages. */
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin?: string;
  /** The current directory of the program; default: that of this process. */
  readonly directory?: string;
}

export interface ProgramResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/**
 * Runs a program until it exits. `runProgram` returns a nonzero exit code as a result and does not throw an error for
 * it.
 * @throws when the program cannot start or is killed; `runProgram` kills a program that has not exited after
 * `HANG_LIMIT_MS`
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  { name, env, stdin = '', directory }: ProgramOptions,
): Promise<ProgramResult> {
  const child = spawn(file, args, { env, cwd: directory, timeout: HANG_LIMIT_MS, killSignal: 'SIGKILL' });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  child.stdin.on('error', () => undefined); // the program may exit before it has read its stdin
  child.stdin.end(stdin);
  const closed: unknown[] = await once(child, 'close');
  const code = closed[0];
  if (typeof code !== 'number')
    throw new Error(`${name} ${args.join(' ')} was killed after ${HANG_LIMIT_MS} ms: ${stderr}`);
  return { stdout, stderr, code };
}
