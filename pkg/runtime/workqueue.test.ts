import { expect } from 'chai';
import type { Ms } from '../env/clock.ts';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import type { ObjectKey } from '../kube/types.ts';
import { Workqueue } from './workqueue.ts';
import type { WorkqueueMetrics } from './workqueue.ts';

// The cases of client-go's util/workqueue and of controller-runtime's priority queue.

const key = (name: string): ObjectKey => ({ namespace: 'default', name });
const [a, b, c] = [key('a'), key('b'), key('c')];

const start = (): { readonly clock: VirtualClock; readonly queue: Workqueue } => {
  const clock = new VirtualClock();
  return { clock, queue: new Workqueue({ clock }) };
};

/** What is ready right now, in the order in which workers get it. Each is given back at once. */
async function takeAll(queue: Workqueue): Promise<readonly string[]> {
  const names: string[] = [];
  while (queue.length > 0) {
    const next = await queue.get();
    if (next === undefined) break;
    names.push(next.name);
    queue.done(next);
  }
  return names;
}

describe('Workqueue', () => {
  it('hands out in the order of adding', async () => {
    const { queue } = start();
    for (const one of [c, a, b]) queue.add(one);
    expect(await takeAll(queue)).to.deep.equal(['c', 'a', 'b']);
  });

  it('hands a key out once, however often it was added', async () => {
    const { queue } = start();
    for (let times = 0; times < 5; times++) queue.add(a);
    expect(queue.length).to.equal(1);
    expect(await takeAll(queue)).to.deep.equal(['a']);
  });

  it('takes keys for the same that are equal, and keeps namespaces apart', async () => {
    const { queue } = start();
    queue.add({ namespace: 'x', name: 'a' });
    queue.add({ namespace: 'x', name: 'a' });
    queue.add({ namespace: 'y', name: 'a' });
    expect(queue.length).to.equal(2);
  });

  it('keeps a key that is added while it is processed until it is done, then hands it out once more', async () => {
    const { queue } = start();
    queue.add(a);
    const first = await queue.get();
    queue.add(a);
    queue.add(a);
    expect(queue.length).to.equal(0);
    queue.done(a);
    expect(first).to.deep.equal(a);
    expect(await takeAll(queue)).to.deep.equal(['a']);
    expect(queue.length).to.equal(0);
  });

  it('can be given again what was done', async () => {
    const { queue } = start();
    queue.add(a);
    expect(await takeAll(queue)).to.deep.equal(['a']);
    queue.add(a);
    expect(await takeAll(queue)).to.deep.equal(['a']);
  });

  it('lets workers wait, first come first served', async () => {
    const { queue, clock } = start();
    const got: string[] = [];
    const wait = async (worker: string): Promise<void> => {
      const next = await queue.get();
      got.push(`${worker} ${next?.name}`);
    };
    void wait('first');
    void wait('second');
    queue.add(a);
    queue.add(b);
    await clock.settle();
    expect(got).to.deep.equal(['first a', 'second b']);
  });

  it('ignores a done of what nobody has', () => {
    const { queue } = start();
    queue.add(a);
    queue.done(a);
    expect(queue.length).to.equal(1);
  });

  describe('addAfter', () => {
    it('makes a key ready when its time has come', async () => {
      const { queue, clock } = start();
      queue.addAfter(a, 50);
      await clock.advance(49);
      expect(queue.length).to.equal(0);
      await clock.advance(1);
      expect(await takeAll(queue)).to.deep.equal(['a']);
    });

    it('adds at once what has no delay', () => {
      const { queue, clock } = start();
      queue.addAfter(a, 0);
      queue.addAfter(b, -5);
      expect(queue.length).to.equal(2);
      expect(clock.pendingTimers()).to.deep.equal([]);
    });

    it('keeps the earliest of several times, whichever came first', async () => {
      for (const delays of [
        [1000, 50],
        [50, 1000],
      ]) {
        const { queue, clock } = start();
        for (const delay of delays) queue.addAfter(a, delay);
        await clock.advance(50);
        expect(await takeAll(queue), String(delays)).to.deep.equal(['a']);
        await clock.advance(10_000);
        expect(queue.length).to.equal(0);
        expect(clock.pendingTimers()).to.deep.equal([]);
      }
    });

    it('hands out in the order of the times', async () => {
      const { queue, clock } = start();
      queue.addAfter(a, 1000);
      queue.addAfter(b, 500);
      queue.addAfter(c, 750);
      await clock.advance(1000);
      expect(await takeAll(queue)).to.deep.equal(['b', 'c', 'a']);
    });

    it('is served by an earlier add, which leaves no second wake', async () => {
      const { queue, clock } = start();
      queue.addAfter(a, 1000);
      queue.add(a);
      expect(await takeAll(queue)).to.deep.equal(['a']);
      expect(clock.pendingTimers()).to.deep.equal([]);
    });

    it('adds nothing to a key that is ready', async () => {
      const { queue, clock } = start();
      queue.add(a);
      queue.addAfter(a, 1000);
      expect(await takeAll(queue)).to.deep.equal(['a']);
      expect(clock.pendingTimers()).to.deep.equal([]);
    });

    it('works for a key in work, before and after it is done', async () => {
      const { queue, clock } = start();
      queue.add(a);
      await queue.get();
      queue.addAfter(a, 100);
      await clock.advance(100);
      expect(queue.length).to.equal(0);
      queue.done(a);
      expect(await takeAll(queue)).to.deep.equal(['a']);
    });
  });

  describe('backoff', () => {
    it('is 5 ms doubled at each failure, at most 1000 s', async () => {
      const { queue, clock } = start();
      const delays: Ms[] = [];
      for (let failure = 0; failure < 20; failure++) {
        queue.addRateLimited(a);
        delays.push(clock.pendingTimers()[0] ?? NaN);
        await clock.advance(1_000_000);
        await takeAll(queue);
      }
      expect(delays.slice(0, 4)).to.deep.equal([5, 10, 20, 40]);
      expect(delays[17]).to.equal(5 * 2 ** 17);
      expect(delays.slice(18)).to.deep.equal([1_000_000, 1_000_000]);
    });

    it('stays at its longest for a key that fails for ever', async () => {
      const { queue, clock } = start();
      for (let failure = 0; failure < 2_000; failure++) queue.addRateLimited(a);
      await clock.advance(5);
      await takeAll(queue);
      queue.addRateLimited(a);
      expect(clock.pendingTimers()).to.deep.equal([1_000_000]);
    });

    it('is per key, and starts anew when forgotten', async () => {
      const { queue, clock } = start();
      queue.addRateLimited(a);
      queue.addRateLimited(a);
      queue.addRateLimited(b);
      queue.forget(a);
      await clock.advance(5);
      expect(queue.length, 'forget takes nothing off the queue').to.equal(2);
      await takeAll(queue);
      queue.addRateLimited(a);
      queue.addRateLimited(b);
      expect(clock.pendingTimers()).to.deep.equal([5, 10]);
    });
  });

  describe('priority', () => {
    it('hands out what changes now before the backlog', async () => {
      const { queue } = start();
      queue.add(a, 'low');
      queue.add(b, 'low');
      queue.add(c);
      expect(await takeAll(queue)).to.deep.equal(['c', 'a', 'b']);
    });

    it('hands out what others wait for before all else', async () => {
      const { queue } = start();
      queue.add(a);
      queue.add(b, 'low');
      queue.add(c, 'high');
      expect(queue.length).to.equal(3);
      expect(await takeAll(queue)).to.deep.equal(['c', 'a', 'b']);
      queue.add(a);
      queue.add(b, 'low');
      queue.add(b, 'high');
      expect(await takeAll(queue), 'raised').to.deep.equal(['b', 'a']);
    });

    it('is high for one time', async () => {
      const { queue, clock } = start();
      queue.add(a, 'high');
      await queue.get();
      queue.addAfter(b, 5);
      queue.addAfter(a, 10);
      queue.done(a);
      await clock.advance(10);
      expect(await takeAll(queue)).to.deep.equal(['b', 'a']);
    });

    it('is the highest that was asked for', async () => {
      const { queue, clock } = start();
      queue.add(a, 'low');
      queue.add(b, 'low');
      queue.add(b);
      queue.add(b, 'low');
      expect(await takeAll(queue)).to.deep.equal(['b', 'a']);
      queue.addAfter(a, 10, 'low');
      queue.addAfter(b, 10, 'low');
      queue.addAfter(b, 20, 'normal');
      await clock.advance(10);
      expect(await takeAll(queue)).to.deep.equal(['b', 'a']);
    });

    it('is kept by a key that is added again by whoever processes it', async () => {
      const { queue, clock } = start();
      queue.add(a, 'low');
      await queue.get();
      queue.addAfter(a, 10);
      queue.done(a);
      await clock.advance(10);
      queue.add(b);
      expect(await takeAll(queue)).to.deep.equal(['b', 'a']);
    });

    it('is raised also for a key in work', async () => {
      const { queue } = start();
      queue.add(a, 'low');
      await queue.get();
      queue.add(a, 'low');
      queue.add(b, 'low');
      queue.add(a);
      queue.done(a);
      expect(await takeAll(queue)).to.deep.equal(['a', 'b']);
    });
  });

  describe('shutting down', () => {
    it('takes no more, hands out what is ready, drops what waits, then sends workers home', async () => {
      const { queue, clock } = start();
      queue.add(a);
      queue.addAfter(b, 10);
      queue.shutDown();
      queue.add(c);
      queue.addAfter(c, 10);
      queue.addRateLimited(c);
      expect(clock.pendingTimers()).to.deep.equal([]);
      expect(await queue.get()).to.deep.equal(a);
      expect(await queue.get()).to.equal(undefined);
    });

    it('wakes the workers that wait', async () => {
      const { queue } = start();
      const workers = [queue.get(), queue.get()];
      queue.shutDown();
      expect(await Promise.all(workers)).to.deep.equal([undefined, undefined]);
    });
  });

  it('tells its metrics as client-go does', async () => {
    const clock = new VirtualClock();
    const told: string[] = [];
    let gauges: Parameters<WorkqueueMetrics['observe']>[0] | undefined;
    const queue = new Workqueue({
      clock,
      metrics: {
        added: () => told.push('added'),
        retried: () => told.push('retried'),
        queuedFor: (span) => told.push(`queued ${span}`),
        workedFor: (span) => told.push(`worked ${span}`),
        observe: (reader) => (gauges = reader),
      },
    });
    queue.add(a);
    queue.add(a);
    expect(gauges?.depth()).to.equal(1);
    await clock.advance(50);
    await queue.get();
    expect(gauges?.depth()).to.equal(0);
    await clock.advance(25);
    queue.add(a);
    expect(gauges?.depth(), 'what is added while in work counts').to.equal(1);
    await clock.advance(25);
    expect(gauges?.processing()).to.deep.equal([50]);
    queue.done(a);
    await queue.get();
    queue.addAfter(a, 10);
    expect(gauges?.depth(), 'what waits does not').to.equal(0);
    queue.done(a);
    await clock.advance(10);
    expect(told).to.deep.equal([
      'added',
      'queued 50',
      'added',
      'worked 50',
      'queued 25',
      'retried',
      'worked 0',
      'added',
    ]);
  });
});
