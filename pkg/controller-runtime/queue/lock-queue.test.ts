import { expect } from 'chai';
import { LockQueue } from './lock-queue.ts';

describe('LockQueue', () => {
  let queue: LockQueue;
  let woken: string[];

  beforeEach(() => {
    woken = [];
    queue = new LockQueue((id) => void woken.push(id));
  });

  /**
   * Requests the locks on the given names. Returns a function that ends the locked work, or `undefined` if the entry
   * has to wait for the lock.
   */
  function ask(id: string, ...names: readonly string[]): (() => Promise<void>) | undefined {
    const { promise, resolve } = Promise.withResolvers<void>();
    const running = queue.tryRun(id, names, () => promise);
    return running && (() => (resolve(), running));
  }

  it('gives a free lock at once, and one that is held to nobody else', async () => {
    const end = ask('a', 'role');
    expect(end).to.not.equal(undefined);
    expect(ask('b', 'role')).to.equal(undefined);
    expect(ask('c', 'other')).to.not.equal(undefined);
    await end?.();
    expect(ask('b', 'role')).to.not.equal(undefined);
  });

  it('wakes the entry that has waited longest, and the next one after that', async () => {
    const end = ask('a', 'role');
    for (const id of ['b', 'c', 'b']) expect(ask(id, 'role')).to.equal(undefined);
    await end?.();
    expect(woken).to.deep.equal(['b']);
    await ask('b', 'role')?.();
    expect(woken).to.deep.equal(['b', 'c']);
  });

  it('wakes an entry that waits for several names when one of them is free', async () => {
    const end = ask('a', 'one');
    expect(ask('b', 'one', 'two')).to.equal(undefined);
    await end?.();
    expect(woken).to.deep.equal(['b']);
    expect(ask('b', 'one', 'two')).to.not.equal(undefined);
    expect(ask('c', 'two')).to.equal(undefined);
  });

  it('wakes several entries with different names', async () => {
    const end = ask('a', 'one', 'two');
    expect([ask('b', 'one'), ask('c', 'two')]).to.deep.equal([undefined, undefined]);
    await end?.();
    expect(woken).to.deep.equal(['b', 'c']);
  });

  it('does not wait for an entry that does not come back', async () => {
    const end = ask('a', 'role');
    expect(ask('b', 'role')).to.equal(undefined);
    await end?.();
    expect(ask('c', 'role')).to.not.equal(undefined);
  });

  it('is unlocked after work that fails', async () => {
    const failed = queue.tryRun('a', ['role'], () => Promise.reject(new Error('no')));
    expect(ask('b', 'role')).to.equal(undefined);
    await failed?.catch(() => undefined);
    expect(woken).to.deep.equal(['b']);
    expect(ask('b', 'role')).to.not.equal(undefined);
  });
});
