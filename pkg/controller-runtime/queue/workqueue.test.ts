import { expect } from 'chai';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { ObjectKey } from '../client/types.ts';
import type { Ms } from '../env/clock.ts';
import { Workqueue, type WorkqueueMetrics } from './workqueue.ts';

// Many test cases of this file come from client-go's util/workqueue and controller-runtime's priority queue.

const MINUTE: Ms = 60_000;

const key = (name: string): ObjectKey => ({ namespace: 'default', name });

let clock: VirtualClock;
let queue: Workqueue;
const start = (): void => {
  clock = new VirtualClock();
  queue = new Workqueue({ clock });
};

/** Takes all ready keys in order, each after the one before is done, and returns their names. */
async function takeAll(): Promise<readonly string[]> {
  const names: string[] = [];
  while (queue.length > 0) {
    const next = await queue.get();
    if (next === undefined) break;
    names.push(next.name);
    queue.done(next);
  }
  return names;
}

const [a, b, c] = [key('a'), key('b'), key('c')];

describe('The workqueue', () => {
  beforeEach(start);

  it('reads the group of a ready key again when the key is added again, and hands it out if that has a free slot', async () => {
    const groups = new Map<string, string>();
    queue = new Workqueue({
      clock,
      slots: { group: 2, namespace: 10, total: 10 },
      groupOf: ({ name }) => groups.get(name) ?? 'unknown',
    });
    const got: (string | undefined)[] = [];
    for (let worker = 0; worker < 3; worker++) void queue.get().then((next) => got.push(next?.name));
    for (const one of [a, b, c]) queue.add(one);
    await clock.settle();
    expect(got, 'two of one group').to.deep.equal(['a', 'b']);
    groups.set('c', 'eu-west-1');
    queue.add(c);
    await clock.settle();
    expect(got).to.deep.equal(['a', 'b', 'c']);
  });

  it('makes a key ready at once without a delay, and ignores done for it', () => {
    queue.addAfter(a, 0);
    queue.addAfter(b, -5);
    queue.done(a);
    expect(queue.length).to.equal(2);
    expect(clock.pendingTimers()).to.deep.equal([]);
  });

  describe('backoff', () => {
    it('doubles from 5 ms, and stays at two minutes for a key that always fails', async () => {
      const delays: Ms[] = [];
      for (let failure = 0; failure < 2_000; failure++) {
        queue.addRateLimited(a);
        delays.push(...clock.pendingTimers());
        await clock.advance(2 * MINUTE);
        await takeAll();
      }
      expect(delays.slice(0, 3)).to.deep.equal([5, 10, 20]);
      expect(delays.slice(13, 16)).to.deep.equal([40_960, 81_920, 2 * MINUTE]);
      expect(delays.at(-1)).to.equal(2 * MINUTE);
    });
  });

  describe('shutDown', () => {
    it('refuses new keys, drops keys with a delay, hands out ready keys, then ends the workers', async () => {
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

    it('ends idle workers', async () => {
      const workers = [queue.get(), queue.get()];
      queue.shutDown();
      expect(await Promise.all(workers)).to.deep.equal([undefined, undefined]);
    });
  });

  it('reports the same metrics as client-go', async () => {
    const told: string[] = [];
    let gauges: Parameters<WorkqueueMetrics['registerGauges']>[0] | undefined;
    queue = new Workqueue({
      clock,
      metrics: {
        recordAdd: () => told.push('added'),
        recordRetry: () => told.push('retried'),
        recordQueueDuration: (span) => told.push(`queued ${span}`),
        recordWorkDuration: (span) => told.push(`worked ${span}`),
        registerGauges: (reader) => (gauges = reader),
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
    expect(gauges?.depth(), 'a key that is added while it is processed counts').to.equal(1);
    await clock.advance(25);
    expect(gauges?.processing()).to.deep.equal([50]);
    queue.done(a);
    await queue.get();
    queue.addAfter(a, 10);
    expect(gauges?.depth(), 'a key with a delay does not count').to.equal(0);
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

describe('The priority of a key', () => {
  beforeEach(start);

  it('counts for one hand-out', async () => {
    queue.add(a, 'urgent');
    await queue.get();
    queue.addAfter(b, 5);
    queue.addAfter(a, 10);
    queue.done(a);
    await clock.advance(10);
    expect(await takeAll()).to.deep.equal(['b', 'a']);
  });

  it('is the highest of all adds', async () => {
    queue.add(a, 'low');
    queue.add(b, 'low');
    queue.add(b);
    queue.add(b, 'low');
    expect(await takeAll()).to.deep.equal(['b', 'a']);
    queue.addAfter(a, 10, 'low');
    queue.addAfter(b, 10, 'low');
    queue.addAfter(b, 20, 'normal');
    await clock.advance(10);
    expect(await takeAll()).to.deep.equal(['b', 'a']);
  });

  it('stays low for a key that is added again while it is processed with low', async () => {
    queue.add(a, 'low');
    await queue.get();
    queue.addAfter(a, 10);
    queue.done(a);
    await clock.advance(10);
    queue.add(b);
    expect(await takeAll()).to.deep.equal(['b', 'a']);
  });

  it('is raised for a key that is being processed', async () => {
    queue.add(a, 'low');
    await queue.get();
    queue.add(a, 'low');
    queue.add(b, 'low');
    queue.add(a);
    queue.done(a);
    expect(await takeAll()).to.deep.equal(['a', 'b']);
  });
});
