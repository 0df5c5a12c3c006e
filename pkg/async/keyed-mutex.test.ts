import { expect } from 'chai';
import fc from 'fast-check';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import { sleep } from './deadline.ts';
import { KeyedMutex } from './keyed-mutex.ts';

describe('KeyedMutex', () => {
  const never = new AbortController().signal;
  let mutex: KeyedMutex;
  let clock: VirtualClock;
  let log: string[];

  beforeEach(() => {
    mutex = new KeyedMutex();
    clock = new VirtualClock();
    log = [];
  });

  /** Calls `run` of a KeyedMutex with work that keeps `names` locked for `span` ms. */
  const hold = (who: string, names: readonly string[], span = 10, signal = never): Promise<string> =>
    mutex.run(names, signal, async () => {
      log.push(`${who} begins`);
      await sleep(clock, span, never);
      log.push(`${who} ends`);
      return who;
    });

  it('runs one work after the other, in the order of the calls', async () => {
    const all = [hold('a', ['role']), hold('b', ['role']), hold('c', ['role'])];
    await clock.advance(30);
    expect(await Promise.all(all)).to.deep.equal(['a', 'b', 'c']);
    expect(log).to.deep.equal(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });

  it('does not delay work with other names', async () => {
    const all = [hold('a', ['one']), hold('b', ['two'])];
    await clock.advance(10);
    await Promise.all(all);
    expect(log.slice(0, 2)).to.deep.equal(['a begins', 'b begins']);
  });

  it('runs work without any name', async () => {
    const all = hold('a', []);
    await clock.advance(10);
    expect(await all).to.equal('a');
  });

  it('locks a name once that is given twice', async () => {
    const all = hold('a', ['one', 'one']);
    await clock.advance(10);
    expect(await all).to.equal('a');
  });

  it('does not deadlock when two calls name the same two names in different order', async () => {
    const all = [hold('a', ['one', 'two']), hold('b', ['two', 'one'])];
    await clock.advance(20);
    expect(await Promise.all(all)).to.deep.equal(['a', 'b']);
  });

  it('releases the names when the work fails, and rejects with its error', async () => {
    const failing = mutex.run(['role'], never, () => Promise.reject(new Error('no')));
    const error = await failing.catch((reason: unknown) => reason);
    expect(error).to.be.an('error').with.property('message', 'no');
    const next = hold('b', ['role']);
    await clock.advance(10);
    expect(await next).to.equal('b');
  });

  it('rejects a waiting call with its signal’s reason, and not the others', async () => {
    const leaving = new AbortController();
    const first = hold('a', ['role']);
    const second = hold('b', ['role'], 10, leaving.signal).catch((reason: unknown) => reason);
    const third = hold('c', ['role']);
    await clock.advance(5);
    const reason = new Error('the manager stops');
    leaving.abort(reason);
    expect(await second).to.equal(reason);
    expect(log).to.deep.equal(['a begins']);
    await clock.advance(15);
    await Promise.all([first, third]);
    expect(log, 'order of beginnings and ends').to.deep.equal(['a begins', 'a ends', 'c begins', 'c ends']);
  });

  it('releases the names that it has locked when it aborts while waiting for another', async () => {
    const leaving = new AbortController();
    const holder = hold('a', ['two'], 50);
    const between = hold('b', ['one', 'two'], 10, leaving.signal).catch(() => 'gave up');
    await clock.advance(5);
    leaving.abort();
    expect(await between).to.equal('gave up');
    const next = hold('c', ['one']);
    await clock.advance(10);
    expect(await next).to.equal('c');
    await clock.advance(50);
    await holder;
  });

  it('begins no work for a call whose signal has aborted', async () => {
    const reason = new Error('too late');
    const late = await hold('a', ['role'], 10, AbortSignal.abort(reason)).catch((error: unknown) => error);
    expect(late).to.equal(reason);
    expect(log).to.deep.equal([]);
    const next = hold('b', ['role']);
    await clock.advance(10);
    expect(await next).to.equal('b');
  });

  it('never runs two works for one name, and completes every call, under random failures and aborts', async () => {
    const aTask = fc.record({
      names: fc.subarray(['one', 'two', 'three', 'four']),
      at: fc.integer({ min: 0, max: 40 }),
      span: fc.integer({ min: 0, max: 20 }),
      gaveUpAt: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined, freq: 3 }),
      fails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(aTask, { maxLength: 10 }), async (tasks) => {
        const time = new VirtualClock();
        const shared = new KeyedMutex();
        const held = new Set<string>();
        const broken: string[] = [];
        const settled: string[] = [];
        tasks.forEach(({ names, at, span, gaveUpAt, fails }, index) => {
          const control = new AbortController();
          if (gaveUpAt !== undefined) time.after(gaveUpAt, () => control.abort(new Error('gave up')));
          time.after(at, () => {
            const work = async (): Promise<void> => {
              for (const name of names) if (held.has(name)) broken.push(name);
              for (const name of names) held.add(name);
              await sleep(time, span, never);
              for (const name of names) held.delete(name);
              if (fails) throw new Error('failed');
            };
            shared.run(names, control.signal, work).then(
              () => settled.push(`${index} done`),
              (error: unknown) => settled.push(`${index} ${error instanceof Error ? error.message : 'odd'}`),
            );
          });
        });
        await time.advance(1_000);
        expect(broken).to.deep.equal([]);
        expect([...held]).to.deep.equal([]);
        expect(settled).to.have.length(tasks.length);
        tasks.forEach(({ gaveUpAt, fails }, index) => {
          const possible = [fails ? 'failed' : 'done', ...(gaveUpAt === undefined ? [] : ['gave up'])];
          expect(possible.map((each) => `${index} ${each}`)).to.include.oneOf(
            settled.filter((each) => each.startsWith(`${index} `)),
          );
        });
      }),
      { numRuns: 200 },
    );
  });
});
