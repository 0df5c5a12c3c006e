import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { CallRecord } from '../../aws/call-log.ts';
import { eventually } from '../../support/eventually.ts';
import type { TcpProxy } from '../../support/proxies/tcp-proxy.ts';
import type { RunningManager } from './manager.ts';
import { startApiTcpProxy } from './api-proxy.ts';
import { type World, ACCOUNT } from '../world.ts';

const run = promisify(execFile);

/**
 * A manager that takes part in the leader election. It has an AWS access key of its own, so that the call log of the
 * AWS emulator shows which manager has made a call.
 */
export interface Candidate {
  readonly manager: RunningManager;
  /** The value of `spec.holderIdentity` in the Lease while this manager is the leader. */
  readonly identity: string;
  readonly accessKeyId: string;
  /** The TCP proxy through which this manager connects to the API server. */
  readonly proxy: TcpProxy;
  /** The AWS calls of this manager that came after the call with the sequence number `afterSeq`. */
  readonly calls: (afterSeq?: number) => readonly CallRecord[];
}

/**
 * Starts a manager that takes part in the leader election. Resolves when the manager is ready and has started its
 * attempts to acquire the Lease.
 */
export async function startCandidate(world: World, name: string, flags: readonly string[]): Promise<Candidate> {
  const { proxy, kubeconfigPath } = await startApiTcpProxy(world.controlPlane);
  world.addCleanup(() => proxy.close());
  const { accessKeyId } = world.aws.admin.registerKey({ accessKeyId: `AKIA${name.toUpperCase()}`, account: ACCOUNT });
  const manager = await world.startManager({ name, accessKeyId, kubeconfigPath, flags: ['--leader-elect', ...flags] });
  const identity = await eventually(
    () => /"Attempting to acquire the lease".* identity="([^"]+)"/.exec(manager.log())?.[1] ?? false,
    { what: `the first attempt of ${name} to acquire the Lease` },
  );
  const calls = (afterSeq = 0): readonly CallRecord[] => world.aws.log.read({ accessKeyId, afterSeq });
  return { manager, identity, accessKeyId, proxy, calls };
}

/**
 * Suspends the process of a manager with SIGSTOP, and waits until the operating system has suspended it. SIGCONT
 * resumes the process.
 */
export async function suspendManager({ pid, kill }: Pick<RunningManager, 'pid' | 'kill'>): Promise<void> {
  kill('SIGSTOP');
  await eventually(async () => (await stateOf(pid)).startsWith('T'), {
    what: `the suspension of process ${pid}`,
    intervalMs: 5,
  });
}

/**
 * Returns the state of a process as `ps` prints it; `T…` means suspended. On Linux it reads /proc, because not every
 * Linux has `ps`.
 */
async function stateOf(pid: number): Promise<string> {
  if (process.platform !== 'linux') return (await run('ps', ['-o', 'state=', '-p', String(pid)])).stdout.trim();
  // The format of /proc/<pid>/stat is `pid (command) state …` (proc_pid_stat(5)). The command may contain spaces and
  // parentheses.
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2);
}
