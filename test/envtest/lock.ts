import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** How often the holder shows that it is alive, and for how long its silence is believed (a container sees no foreign pids). */
const HEARTBEAT_MS = 5_000;
const SILENT_MS = 60_000;
const POLL_MS = 500;

interface Owner {
  readonly host: string;
  readonly pid: number;
}

export interface LockOptions {
  /** Called once when somebody else holds the lock. */
  readonly onWait?: (owner: string) => void;
}

/**
 * Runs `work` while holding the lock file at `path`, across processes. The lock of a process that is dead, or has been
 * silent for a minute, is taken over.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, { onWait }: LockOptions = {}): Promise<T> {
  let told = false;
  while (!(await acquire(path))) {
    const seen = await read(path);
    if (seen === undefined) continue;
    if (await isStale(path, seen)) {
      await discard(path, seen);
      continue;
    }
    if (!told) onWait?.(seen.trim());
    told = true;
    await delay(POLL_MS);
  }
  const heartbeat = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => undefined), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await rm(path, { force: true });
  }
}

/** A hard link to a file that is complete already: nobody ever sees a lock without its owner in it. */
async function acquire(path: string): Promise<boolean> {
  const own = `${path}.${randomUUID()}`;
  const owner: Owner = { host: hostname(), pid: process.pid };
  await writeFile(own, `${JSON.stringify(owner)}\n`);
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw new Error(`locking ${path}`, { cause: error });
  } finally {
    await rm(own, { force: true });
  }
}

async function read(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(ignoring('ENOENT'));
}

async function isStale(path: string, content: string): Promise<boolean> {
  const found = await stat(path).catch(ignoring('ENOENT'));
  if (found === undefined) return false;
  if (Date.now() - found.mtimeMs > SILENT_MS) return true;
  const owner = parseOwner(content);
  return owner === undefined || (owner.host === hostname() && !isAlive(owner.pid));
}

/** Takes a stale lock away; whoever was overtaken by a new holder in between gives that one's lock back. */
async function discard(path: string, stale: string): Promise<void> {
  const aside = `${path}.stale.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw new Error(`discarding the stale lock ${path}`, { cause: error });
  }
  if ((await read(aside)) !== stale) await link(aside, path).catch(ignoring('EEXIST'));
  await rm(aside, { force: true });
}

function parseOwner(content: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value !== 'object' || value === null || !('host' in value) || !('pid' in value)) return undefined;
    const { host, pid } = value;
    return typeof host === 'string' && typeof pid === 'number' ? { host, pid } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a process of this id runs on this machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function ignoring(code: string): (error: unknown) => undefined {
  return (error) => {
    if (!hasCode(error, code)) throw error;
  };
}
