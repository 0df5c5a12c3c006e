import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { CallRecord } from '../aws/call-log.ts';
import { eventually } from '../support/eventually.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import type { RunningManager } from './manager.ts';
import { throughProxy } from './proxied.ts';
import { ACCOUNT } from './world.ts';
import type { World } from './world.ts';

const run = promisify(execFile);

/** A manager that stands for election. Its keys are its own, so that AWS's log tells who did what. */
export interface Contender {
  readonly manager: RunningManager;
  /** Who it is in the Lease. */
  readonly identity: string;
  readonly accessKeyId: string;
  /** Its way to the API server. */
  readonly line: TcpProxy;
  /** What it asked of AWS, after the call with that number. */
  readonly calls: (afterSeq?: number) => readonly CallRecord[];
}

/** Resolves when it is ready, and stands for election. */
export async function startContender(world: World, name: string, flags: readonly string[]): Promise<Contender> {
  const { proxy: line, kubeconfigPath } = await throughProxy(world.controlPlane);
  world.endWith(() => line.close());
  const { accessKeyId } = world.aws.admin.registerKey({ accessKeyId: `AKIA${name.toUpperCase()}`, account: ACCOUNT });
  const manager = await world.startManager({ name, accessKeyId, kubeconfigPath, flags: ['--leader-elect', ...flags] });
  const identity = await eventually(
    () => /"Attempting to acquire the lease".* identity="([^"]+)"/.exec(manager.log())?.[1] ?? false,
    { what: `${name} standing for election` },
  );
  const calls = (afterSeq = 0): readonly CallRecord[] => world.aws.log.read({ accessKeyId, afterSeq });
  return { manager, identity, accessKeyId, line, calls };
}

/** Stops a process in its tracks, and waits until it stands still; `SIGCONT` has it go on. */
export async function freeze({ pid, kill }: Pick<RunningManager, 'pid' | 'kill'>): Promise<void> {
  kill('SIGSTOP');
  await eventually(async () => (await stateOf(pid)).startsWith('T'), {
    what: `the standstill of process ${pid}`,
    intervalMs: 5,
  });
}

/** As `ps` has it, which not every Linux brings: `T` when the process is stopped. */
async function stateOf(pid: number): Promise<string> {
  if (process.platform !== 'linux') return (await run('ps', ['-o', 'state=', '-p', String(pid)])).stdout.trim();
  // proc_pid_stat(5): `pid (command) state …`; the command may have spaces and parentheses of its own.
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2);
}
