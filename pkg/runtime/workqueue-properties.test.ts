import { expect } from 'chai';
import fc from 'fast-check';
import type { Ms } from '../env/clock.ts';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import type { ObjectKey } from '../kube/types.ts';
import { Workqueue } from './workqueue.ts';

const key = (name: string): ObjectKey => ({ namespace: 'default', name });

type Step =
  | { readonly do: 'add' | 'forget' | 'rateLimited'; readonly name: string }
  | { readonly do: 'addAfter'; readonly name: string; readonly delay: Ms }
  | { readonly do: 'pass'; readonly span: Ms };

const aName = fc.constantFrom('a', 'b', 'c', 'd');
const aStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('add', 'forget', 'rateLimited'), name: aName }) },
  fc.record({ do: fc.constant('addAfter'), name: aName, delay: fc.integer({ min: 0, max: 200 }) }),
  fc.record({ do: fc.constant('pass'), span: fc.integer({ min: 0, max: 60 }) }),
);

describe('Workqueue, whatever happens', () => {
  /** Runs the steps against workers whose passes take the given times; checks the rules as it goes. */
  async function run(steps: readonly Step[], workers: number, spans: readonly Ms[]): Promise<void> {
    const clock = new VirtualClock();
    const queue = new Workqueue({ clock });
    const inWork = new Set<string>();
    /** Per key, by when a pass must have begun for the adds so far. */
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
        expect(owed.has(name), `nobody asked for ${name}: ${log.join(' ')}`).to.equal(true);
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
    /** Since it was last forgotten. */
    const failures = new Map<string, number>();
    const broken: unknown[] = [];
    const running = Array.from({ length: workers }, () => worker().catch((error: unknown) => broken.push(error)));
    const look = async (): Promise<void> => {
      // A key is out of the queue a moment before its worker goes on: what is added in between counts as added later.
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
          owe(step.name, clock.monotonic() + Math.min(5 * 2 ** (failures.get(step.name) ?? 0), 1_000_000));
          failures.set(step.name, (failures.get(step.name) ?? 0) + 1);
          queue.addRateLimited(key(step.name));
          break;
        case 'forget':
          failures.delete(step.name);
          queue.forget(key(step.name));
          break;
        case 'pass':
          await clock.advance(step.span);
          // With a worker free for each key, nobody waits longer than until the pass under way is done.
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

  it('a key is never in two workers, none is lost, early, or processed unasked', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aStep, { maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 0, max: 80 }), { minLength: 1, maxLength: 5 }),
        run,
      ),
      { numRuns: 200 },
    );
  }).timeout(60_000);
});
