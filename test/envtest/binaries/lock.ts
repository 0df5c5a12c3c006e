import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The interval at which the process that holds a lock updates the modification time of the lock file. The update shows
 * other processes that the holder still runs.
 */
const HEARTBEAT_MS = 5_000;
/**
 * A lock file that was not modified for this time is stale: its holder is dead. The process id in the lock file does
 * not always show that the holder is dead, because a process in a container does not see the processes of other
 * containers.
 */
const STALE_MS = 60_000;
const POLL_MS = 500;

interface Owner {
  readonly host: string;
  readonly pid: number;
}

export interface LockOptions {
  /**
   * Called when another process holds the lock, at most once for each call of `withLock`. `owner` is the content of the
   * lock file.
   */
  readonly onWait?: (owner: string) => void;
}

/**
 * Acquires the lock file at `path`, runs `work`, and removes the lock file. Waits while another process holds the lock.
 * Takes over the lock if that process is dead, or if it has not updated the lock file for a minute.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, { onWait }: LockOptions = {}): Promise<T> {
  let isReported = false;
  while (!(await acquire(path))) {
    const seen = await read(path);
    if (seen === undefined) continue;
    if (await isStale(path, seen)) {
      await discard(path, seen);
      continue;
    }
    if (!isReported) onWait?.(seen.trim());
    isReported = true;
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

/**
 * Tries to create the lock file, as a hard link to a file that already names the owner. With the hard link, other
 * processes never read a lock file without an owner.
 */
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
  if (Date.now() - found.mtimeMs > STALE_MS) return true;
  const owner = parseOwner(content);
  return owner === undefined || (owner.host === hostname() && !isAlive(owner.pid));
}

/**
 * Removes a stale lock file. If another process has already replaced the stale lock file by a new one, puts the new
 * lock file back.
 */
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

/** Whether a process with this id runs on this machine. */
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
