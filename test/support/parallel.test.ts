import { setImmediate as nextEventLoopTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { inParallel, runWorkers } from './parallel.ts';

describe('runWorkers', () => {
  it('gives each item to one worker, and returns the results of all workers', async () => {
    const taken = await runWorkers([1, 2, 3, 4, 5], 2, async (rest) => {
      const mine: number[] = [];
      for (const item of rest) {
        mine.push(item);
        await nextEventLoopTurn();
      }
      return mine;
    });
    expect(taken).to.have.lengthOf(2);
    expect(taken.flat()).to.have.members([1, 2, 3, 4, 5]);
  });

  it('throws the first error after the other workers have ended, and gives out no more items', async () => {
    const events: string[] = [];
    const running = runWorkers(['fails', 'ends', 'never starts'], 2, async (rest, worker) => {
      for (const item of rest) {
        events.push(`${item} starts`);
        if (item === 'fails') throw new Error('broken');
        await nextEventLoopTurn();
        events.push(`${item} after the error`);
      }
      if (worker === 1) throw new Error('a later error');
    });
    const error: unknown = await running.catch((thrown: unknown) => thrown);
    expect(String(error)).to.equal('Error: broken');
    expect(events).to.deep.equal(['fails starts', 'ends starts', 'ends after the error']);
  });
});

describe('inParallel', () => {
  it('runs at most the given number of tasks at the same time', async () => {
    let running = 0;
    let most = 0;
    const done: number[] = [];
    await inParallel([1, 2, 3, 4, 5], 2, async (item) => {
      running += 1;
      most = Math.max(most, running);
      await nextEventLoopTurn();
      running -= 1;
      done.push(item);
    });
    expect(most).to.equal(2);
    expect(done).to.have.members([1, 2, 3, 4, 5]);
  });
});
