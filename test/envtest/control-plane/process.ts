import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../support/eventually.ts';
import { HANG_LIMIT_MS } from '../../support/hang-limit.ts';

const POLL_MS = 25;
/** How many characters from the end of the log of a process an error message shows. */
const TAIL_LENGTH = 4_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProcessOptions {
  /** The name of the process and of its log file. Processes with the same name write to the same log file. */
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  /** The environment variables that differ from those of the test process; the value undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The directory of the log file; default: the directory of the control plane. */
  readonly logDirectory?: string;
}

/** A running server or manager. It is a child process of the test process, and its output goes to a log file. */
export interface ServerProcess {
  readonly name: string;
  readonly pid: number;
  readonly logPath: string;
  readonly exited: Promise<Exit>;
  /** The exit code of the process, or the signal that ended it; undefined while the process runs. */
  exit(): Exit | undefined;
  log(): string;
  /** The end of the log of the process, for an error message. */
  tail(): string;
  kill(signal: NodeJS.Signals): void;
  /** Sets whether Node.js keeps the test process running as long as this child process runs; initially true. */
  keepAlive(isKept: boolean): void;
  /**
   * Sends `signal` to the process and waits until it exits. Sends SIGKILL if the process has not exited after
   * `HANG_LIMIT_MS`.
   */
  stop(signal?: NodeJS.Signals): Promise<Exit>;
}

/**
 * A shell process that kills the child processes of a test process after the test process itself was killed. The shell
 * reads the ids of the child processes from a pipe, which closes when the test process ends, even by SIGKILL. The shell
 * then kills the child processes that still run, and removes the directory of the control plane.
 */
export class Watchdog {
  readonly #pids = new Set<number>();
  readonly #shell: ChildProcess;

  constructor(directory: string) {
    const script =
      'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids 2>/dev/null; rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }';
    this.#shell = spawn('/bin/sh', ['-c', script, 'watchdog', directory], {
      detached: true, // the shell has a process group of its own, so that Ctrl-C does not end the shell
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.stdin?.on('error', () => undefined);
  }

  /**
   * Returns the process ids of the watchdog shell, and of the child processes that the shell kills after this test
   * process has ended.
   */
  pids(): number[] {
    return this.#shell.pid === undefined ? [...this.#pids] : [...this.#pids, this.#shell.pid];
  }

  track(pid: number): void {
    this.#pids.add(pid);
    this.#sendPids();
  }

  untrack(pid: number): void {
    this.#pids.delete(pid);
    this.#sendPids();
  }

  /** Sets whether Node.js keeps the test process running as long as the watchdog shell runs; initially true. */
  keepAlive(isKept: boolean): void {
    const pipe = this.#shell.stdin as Socket | null;
    for (const handle of [this.#shell, pipe]) {
      if (isKept) handle?.ref();
      else handle?.unref();
    }
  }

  /**
   * Ends the watchdog shell: closes its pipe, and waits until the shell has killed the child processes that still run
   * and has removed the directory of the control plane.
   */
  async release(): Promise<void> {
    if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    const gone = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    await gone;
  }

  #sendPids(): void {
    this.#shell.stdin?.write(`${[...this.#pids].join(' ')}\n`);
  }
}

export async function startProcess(
  watchdog: Watchdog,
  options: ProcessOptions & { readonly logPath: string },
): Promise<ServerProcess> {
  const { name, file, args, logPath } = options;
  const log = openSync(logPath, 'a');
  const child = spawn(file, args, {
    detached: true, // the child has its own process group: Ctrl-C signals only the test process, which stops the child
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.env },
  });
  closeSync(log);
  // The watchdog learns the id before any await, because a signal can end the test process during an await.
  if (child.pid !== undefined) watchdog.track(child.pid);
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new Error(`starting ${name} from ${file}`, { cause: error });
  }
  const pid = child.pid;
  if (pid === undefined) throw new Error(`starting ${name}: no process id`);

  let ended: Exit | undefined;
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      ended = { code, signal };
      watchdog.untrack(pid);
      resolve(ended);
    });
  });
  const read = (): string => readFileSync(logPath, 'utf8');
  return {
    name,
    pid,
    logPath,
    exited,
    exit: () => ended,
    log: read,
    tail: () => read().slice(-TAIL_LENGTH),
    kill: (signal) => void child.kill(signal),
    keepAlive: (isKept) => (isKept ? child.ref() : child.unref()),
    stop: async (signal = 'SIGTERM') => {
      if (ended !== undefined) return ended;
      child.kill(signal);
      const timer = new AbortController();
      const late = delay(HANG_LIMIT_MS, undefined, { signal: timer.signal }).then(
        () => void child.kill('SIGKILL'),
        () => undefined,
      );
      const exit = await exited;
      timer.abort();
      await late;
      return exit;
    },
  };
}

/**
 * Calls `isUp` until it returns true. An error of `isUp` counts as false.
 * @throws if one of the given processes exits before `isUp` returns true, or after `HANG_LIMIT_MS`
 */
export async function waitUntilUp(
  processes: readonly ServerProcess[],
  what: string,
  isUp: () => boolean | Promise<boolean>,
): Promise<void> {
  const ended = (): ServerProcess | undefined => processes.find((process) => process.exit() !== undefined);
  await eventually(async () => ended() !== undefined || (await isUp()), {
    intervalMs: POLL_MS,
    what,
  });
  const dead = ended();
  if (dead !== undefined)
    throw new Error(`${dead.name} ended with ${dead.exit()?.signal ?? dead.exit()?.code} before ${what}`);
}
