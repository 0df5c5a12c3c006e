import { expect } from 'chai';
import { VirtualClock } from '../../env/testing/virtual-clock.ts';
import { LockQueue } from './lock-queue.ts';

describe('LockQueue', () => {
  let clock: VirtualClock;
  let queue: LockQueue;
  let woken: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    woken = [];
    queue = new LockQueue({ clock, wake: (id) => woken.push(id) });
  });

  /**
   * Asks for the lock on the given names. Returns a function that ends the locked work, or `undefined` if the entry has
   * to wait for the lock.
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

  it('goes to the entry that has waited longest, which is woken, and not to one that comes later', async () => {
    const end = ask('a', 'role');
    for (const id of ['b', 'c', 'b']) expect(ask(id, 'role')).to.equal(undefined);
    await end?.();
    expect(woken).to.deep.equal(['b']);
    for (const id of ['d', 'c']) expect(ask(id, 'role'), id).to.equal(undefined);
    const second = ask('b', 'role');
    await second?.();
    expect(woken).to.deep.equal(['b', 'c']);
    const third = ask('c', 'role');
    await third?.();
    expect(woken).to.deep.equal(['b', 'c', 'd']);
  });

  it('is not overtaken by entries that want only one of its names', async () => {
    const end = ask('a', 'one');
    expect(ask('b', 'one', 'two')).to.equal(undefined);
    expect(ask('c', 'two')).to.equal(undefined);
    await end?.();
    expect(woken).to.deep.equal(['b']);
    const second = ask('b', 'one', 'two');
    expect(second).to.not.equal(undefined);
    await second?.();
    expect(woken).to.deep.equal(['b', 'c']);
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
    await clock.advance(4_000);
    expect(ask('c', 'role')).to.equal(undefined);
    await clock.advance(1_000);
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
