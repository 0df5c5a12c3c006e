import { expect } from 'chai';
import fc from 'fast-check';
import type { Ms } from '../env/clock.ts';
import { propertyRuns } from '../testing/property-runs.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { ObjectKey } from '../client/types.ts';
import { Workqueue } from './workqueue.ts';

const key = (name: string): ObjectKey => ({ namespace: 'default', name });

type Step =
  | { readonly do: 'add' | 'forget' | 'rateLimited'; readonly name: string }
  | { readonly do: 'addAfter'; readonly name: string; readonly delay: Ms }
  | { readonly do: 'pass'; readonly span: Ms };

const REGIONS: Readonly<Record<string, string>> = { a: 'eu-west-1', b: 'eu-west-1', c: 'us-east-1', d: 'us-east-1' };
const aName = fc.constantFrom('a', 'b', 'c', 'd');
const aStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('add', 'forget', 'rateLimited'), name: aName }) },
  fc.record({ do: fc.constant('addAfter'), name: aName, delay: fc.integer({ min: 0, max: 200 }) }),
  fc.record({ do: fc.constant('pass'), span: fc.integer({ min: 0, max: 60 }) }),
);

describe('The workqueue with random operations', () => {
  /**
   * Runs the steps on a workqueue and checks its rules at each step. The workers process the keys for the durations
   * `spans`, in turn. With `areShared`, the workqueue has only as many slots as there are workers.
   */
  async function run(steps: readonly Step[], workers: number, spans: readonly Ms[], areShared: boolean): Promise<void> {
    const clock = new VirtualClock();
    const queue = new Workqueue({
      clock,
      ...(areShared && { slots: { group: workers, namespace: workers, total: workers } }),
      groupOf: ({ name }) => REGIONS[name] ?? '',
    });
    const inWork = new Set<string>();
    /** The keys that were added but not handed out yet, each with the time at which it is due. */
    const owed = new Map<string, Ms>();
    const log: string[] = [];
    let passes = 0;

    const owe = (name: string, by: Ms): void => {
      owed.set(name, Math.min(by, owed.get(name) ?? Infinity));
    };
    const worker = async (): Promise<void> => {
      for (let next = await queue.get(); next !== undefined; next = await queue.get()) {
        const { name } = next;
        expect(inWork.has(name), `${name} is in two workers: ${log.join(' ')}`).to.equal(false);
        expect(owed.has(name), `${name} was not added: ${log.join(' ')}`).to.equal(true);
        expect(owed.get(name), `${name} is early: ${log.join(' ')}`).to.be.at.most(clock.monotonic());
        log.push(`${clock.monotonic()}:${name}`);
        owed.delete(name);
        inWork.add(name);
        const span = spans[passes++ % spans.length] ?? 0;
        if (span > 0) await new Promise<void>((resolve) => clock.after(span, resolve));
        inWork.delete(name);
        queue.done(next);
      }
    };
    /** How often each key was added with backoff since its last `forget`. */
    const failures = new Map<string, number>();
    const broken: unknown[] = [];
    const running = Array.from({ length: Math.min(queue.mostWorkers, workers) }, () =>
      worker().catch((error: unknown) => broken.push(error)),
    );
    const look = async (): Promise<void> => {
      // The workqueue hands out a key a moment before its worker continues. `settle` lets the worker continue before
      // the next step adds a key.
      await clock.settle();
      if (broken.length > 0) throw broken[0];
    };
    for (const step of steps) {
      await look();
      switch (step.do) {
        case 'add':
          owe(step.name, clock.monotonic());
          queue.add(key(step.name));
          break;
        case 'addAfter':
          owe(step.name, clock.monotonic() + step.delay);
          queue.addAfter(key(step.name), step.delay);
          break;
        case 'rateLimited':
          owe(step.name, clock.monotonic() + Math.min(5 * 2 ** (failures.get(step.name) ?? 0), 120_000));
          failures.set(step.name, (failures.get(step.name) ?? 0) + 1);
          queue.addRateLimited(key(step.name));
          break;
        case 'forget':
          failures.delete(step.name);
          queue.forget(key(step.name));
          break;
        case 'pass':
          await clock.advance(step.span);
          // If there is a worker for each key, a key that is due waits only while a worker still processes the same
          // key.
          for (const [name, by] of owed)
            if (workers >= 4 && !inWork.has(name))
              expect(by, `${name} is late: ${log.join(' ')}`).to.be.above(clock.monotonic());
          break;
      }
    }
    await clock.advance(3_000_000);
    await look();
    expect([...owed.keys()], `lost; ${log.join(' ')}`).to.deep.equal([]);
    expect(queue.length).to.equal(0);
    expect(clock.pendingTimers()).to.deep.equal([]);
    queue.shutDown();
    await Promise.all(running);
  }

  it('never gives a key to two workers, loses none, and hands out none early or without an add', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aStep, { maxLength: 40, size: 'max' }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 0, max: 80 }), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        run,
      ),
      { numRuns: propertyRuns(200) },
    );
  });
});
