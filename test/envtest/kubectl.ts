import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ControlPlane } from './controlplane.ts';

const TIMEOUT_MS = 60_000;

export interface KubectlOptions {
  readonly stdin?: string;
  /** A user of the control plane; the administrator by default. */
  readonly user?: string;
  readonly timeoutMs?: number;
}

export interface KubectlResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** Runs the real kubectl. A refusal is an answer (`code`); only a kubectl that did not end by itself throws. */
export async function kubectl(
  controlPlane: ControlPlane,
  args: readonly string[],
  { stdin = '', user, timeoutMs = TIMEOUT_MS }: KubectlOptions = {},
): Promise<KubectlResult> {
  const kubeconfig = user === undefined ? controlPlane.kubeconfigPath : controlPlane.user(user).kubeconfigPath;
  const child = spawn(controlPlane.kubectlPath, args, {
    // Neither the home's preferences nor its discovery cache may have a say, and nothing is left there.
    env: {
      ...process.env,
      KUBECONFIG: kubeconfig,
      KUBERC: 'off',
      KUBECACHEDIR: join(controlPlane.dir, 'kubectl-cache'),
    },
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  child.stdin.on('error', () => undefined); // kubectl may end without having read it
  child.stdin.end(stdin);
  const closed: unknown[] = await once(child, 'close');
  const code = closed[0];
  if (typeof code !== 'number')
    throw new Error(`kubectl ${args.join(' ')} was killed after ${timeoutMs} ms: ${stderr}`);
  return { stdout, stderr, code };
}
