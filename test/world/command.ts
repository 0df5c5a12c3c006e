import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MANAGER } from './manager.ts';

/** A command line that is wrong must end at once; this is for a very busy machine. */
const LIMIT_MS = 30_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built manager to its end, with nothing of this machine's configuration in sight. */
export async function runManager(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [MANAGER, ...args], {
    env: { HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const closed: unknown[] = await once(child, 'close');
  const [code, signal] = closed;
  if (signal !== null) throw new Error(`manager ${args.join(' ')} ran on for ${LIMIT_MS} ms:\n${stderr}`);
  return { code: typeof code === 'number' ? code : null, stdout, stderr };
}
