import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { withLock } from './lock.ts';

/** A process id that no process has: it is greater than the greatest process id of Linux and macOS. */
const DEAD_PID = 2 ** 22 + 1;

describe('withLock', () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'capaf-lock-'));
    path = join(directory, 'lock');
  });
  afterEach(() => rm(directory, { recursive: true }));

  const holdBy = (owner: object): Promise<void> => writeFile(path, JSON.stringify(owner));

  it('runs one task at a time, and leaves no files', async () => {
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await readdir(directory);
      inside -= 1;
    };
    await Promise.all([withLock(path, work), withLock(path, work), withLock(path, work)]);
    expect(most).to.equal(1);
    expect(await readdir(directory)).to.deep.equal([]);
  });

  it('releases the lock after a failure', async () => {
    const failure = await withLock(path, () => Promise.reject(new Error('no space left'))).catch(String);
    expect(failure).to.equal('Error: no space left');
    expect(await withLock(path, () => Promise.resolve('done'))).to.equal('done');
  });

  it('replaces the lock of a dead process', async () => {
    await holdBy({ host: hostname(), pid: DEAD_PID });
    expect(await withLock(path, () => Promise.resolve(existsSync(path)))).to.equal(true);
    expect(await readdir(directory)).to.deep.equal([]);
  });

  it('replaces a lock of another machine without heartbeats for more than a minute', async () => {
    await holdBy({ host: 'elsewhere.example', pid: 1 });
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(path, longAgo, longAgo);
    expect(await withLock(path, () => Promise.resolve('done'))).to.equal('done');
  });

  for (const owner of [
    { host: hostname(), pid: process.pid },
    { host: 'elsewhere.example', pid: DEAD_PID },
  ]) {
    it(`waits for ${owner.host === hostname() ? 'a running process' : 'a process of another machine'}`, async () => {
      await holdBy(owner);
      const waited: string[] = [];
      await withLock(path, () => Promise.resolve(), {
        onWait: (seen) => {
          waited.push(seen);
          void rm(path);
        },
      });
      expect(waited).to.deep.equal([JSON.stringify(owner)]);
    });
  }
});
