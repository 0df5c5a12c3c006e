import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';

/** A start takes one to three seconds on an idle machine; this is for a very busy one. */
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 25;
/** How many characters of a log's end go into an error. */
const TAIL_LENGTH = 4_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunOptions {
  /** Also of its log, which processes of one name share. */
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  /** Added to this process's environment; undefined takes a variable out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** A server of the test world as a child process; what it says goes to its log file. */
export interface ServerProcess {
  readonly name: string;
  readonly pid: number;
  readonly logPath: string;
  readonly exited: Promise<Exit>;
  /** How it ended, once it has. */
  exit(): Exit | undefined;
  log(): string;
  /** The log's last lines, for an error. */
  tail(): string;
  kill(signal: NodeJS.Signals): void;
  /** Ends it with `signal`, with SIGKILL when it has not gone after `graceMs`, and waits until it has. */
  stop(signal?: NodeJS.Signals, graceMs?: number): Promise<Exit>;
}

/**
 * Watches over processes from the outside: a shell that reads their ids from a pipe. When this process ends, however it
 * ends, the pipe closes; the shell then kills what still runs and removes the directory. No signal handler here could do
 * that for SIGKILL.
 */
export class Watchdog {
  readonly #pids = new Set<number>();
  readonly #shell: ChildProcess;

  constructor(directory: string) {
    const script =
      'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids 2>/dev/null; rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }';
    this.#shell = spawn('/bin/sh', ['-c', script, 'watchdog', directory], {
      detached: true, // Ctrl-C goes to the foreground process group, and must not take the watchdog first
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.stdin?.on('error', () => undefined);
  }

  /** What it watches over, and itself. */
  pids(): number[] {
    return this.#shell.pid === undefined ? [...this.#pids] : [...this.#pids, this.#shell.pid];
  }

  track(pid: number): void {
    this.#pids.add(pid);
    this.#tell();
  }

  untrack(pid: number): void {
    this.#pids.delete(pid);
    this.#tell();
  }

  /** Lets it do its work now, and waits for it. */
  async release(): Promise<void> {
    if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    const gone = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    await gone;
  }

  #tell(): void {
    this.#shell.stdin?.write(`${[...this.#pids].join(' ')}\n`);
  }
}

export async function startProcess(
  watchdog: Watchdog,
  options: RunOptions & { readonly logPath: string },
): Promise<ServerProcess> {
  const { name, file, args, logPath } = options;
  const log = openSync(logPath, 'a');
  const child = spawn(file, args, {
    detached: true, // a process group of its own: Ctrl-C ends it through us, in our order
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  closeSync(log);
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new Error(`starting ${name} from ${file}`, { cause: error });
  }
  const pid = child.pid;
  if (pid === undefined) throw new Error(`starting ${name}: it has no process id`);
  watchdog.track(pid);

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
    stop: async (signal = 'SIGTERM', graceMs = 10_000) => {
      if (ended !== undefined) return ended;
      child.kill(signal);
      const timer = new AbortController();
      const late = delay(graceMs, undefined, { signal: timer.signal }).then(
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

/** Polls `isUp` until it neither throws nor answers false; gives up as soon as one of the processes has ended. */
export async function untilUp(
  processes: readonly ServerProcess[],
  what: string,
  isUp: () => boolean | Promise<boolean>,
): Promise<void> {
  const ended = (): ServerProcess | undefined => processes.find((process) => process.exit() !== undefined);
  await eventually(async () => ended() !== undefined || (await isUp()), {
    timeoutMs: START_TIMEOUT_MS,
    intervalMs: POLL_MS,
    what,
  });
  const dead = ended();
  if (dead !== undefined)
    throw new Error(`${dead.name} ended with ${dead.exit()?.signal ?? dead.exit()?.code} before ${what}`);
}
