import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { withLock } from './lock.ts';

/** No process has this id: Linux's and macOS's greatest are smaller. */
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

  it('lets one in at a time, and leaves nothing behind', async () => {
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

  it('is free again after work that failed', async () => {
    const failure = await withLock(path, () => Promise.reject(new Error('no space left'))).catch(String);
    expect(failure).to.equal('Error: no space left');
    expect(await withLock(path, () => Promise.resolve('done'))).to.equal('done');
  });

  it('takes over from a process that is dead', async () => {
    await holdBy({ host: hostname(), pid: DEAD_PID });
    expect(await withLock(path, () => Promise.resolve(existsSync(path)))).to.equal(true);
    expect(await readdir(directory)).to.deep.equal([]);
  });

  it('takes over from another machine that has been silent for more than a minute', async () => {
    await holdBy({ host: 'elsewhere.example', pid: 1 });
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(path, longAgo, longAgo);
    expect(await withLock(path, () => Promise.resolve('done'))).to.equal('done');
  });

  for (const owner of [
    { host: hostname(), pid: process.pid },
    { host: 'elsewhere.example', pid: DEAD_PID },
  ]) {
    it(`waits for ${owner.host === hostname() ? 'a process that lives' : 'another machine, whose processes it cannot see'}`, async () => {
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
