import { expect } from 'chai';
import fc from 'fast-check';
import { VirtualClock } from '../testing/virtual-clock.ts';
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

  /** Calls `run` of a KeyedMutex with work that keeps `name` locked for 10 ms. */
  const hold = (who: string, name: string, signal = never): Promise<string> =>
    mutex.run(name, signal, async () => {
      log.push(`${who} begins`);
      await sleep(clock, 10, never);
      log.push(`${who} ends`);
      return who;
    });

  it('runs one work after the other, in the order of the calls, and does not delay work with another name', async () => {
    const all = [hold('a', 'role'), hold('b', 'role'), hold('c', 'role'), hold('x', 'other')];
    await clock.advance(30);
    expect(await Promise.all(all)).to.deep.equal(['a', 'b', 'c', 'x']);
    expect(log.filter((line) => !line.startsWith('x'))).to.deep.equal([
      'a begins',
      'a ends',
      'b begins',
      'b ends',
      'c begins',
      'c ends',
    ]);
    expect(log.slice(0, 2)).to.deep.equal(['a begins', 'x begins']);
  });

  it('rejects a waiting call with its signal’s reason, and not the others', async () => {
    const leaving = new AbortController();
    const first = hold('a', 'role');
    const second = hold('b', 'role', leaving.signal).catch((reason: unknown) => reason);
    const third = hold('c', 'role');
    await clock.advance(5);
    const reason = new Error('the manager stops');
    leaving.abort(reason);
    expect(await second).to.equal(reason);
    expect(log).to.deep.equal(['a begins']);
    await clock.advance(15);
    await Promise.all([first, third]);
    expect(log, 'order of beginnings and ends').to.deep.equal(['a begins', 'a ends', 'c begins', 'c ends']);
  });

  it('never runs two works for one name, and completes every call, under random failures and aborts', async () => {
    const aTask = fc.record({
      name: fc.constantFrom('one', 'two'),
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
        const settled = new Map<number, string>();
        tasks.forEach(({ name, at, span, gaveUpAt, fails }, index) => {
          const control = new AbortController();
          if (gaveUpAt !== undefined) time.after(gaveUpAt, () => control.abort(new Error('gave up')));
          time.after(at, () => {
            const work = async (): Promise<void> => {
              if (held.has(name)) broken.push(name);
              held.add(name);
              await sleep(time, span, never);
              held.delete(name);
              if (fails) throw new Error('failed');
            };
            shared.run(name, control.signal, work).then(
              () => settled.set(index, 'done'),
              (error: unknown) => settled.set(index, error instanceof Error ? error.message : 'odd'),
            );
          });
        });
        await time.advance(1_000);
        expect([broken, [...held]]).to.deep.equal([[], []]);
        tasks.forEach(({ gaveUpAt, fails }, index) => {
          const possible = [fails ? 'failed' : 'done', ...(gaveUpAt === undefined ? [] : ['gave up'])];
          expect(settled.get(index)).to.be.oneOf(possible);
        });
      }),
      { numRuns: 200 },
    );
  });
});
