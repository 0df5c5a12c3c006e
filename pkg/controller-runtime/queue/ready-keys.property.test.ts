import { expect } from 'chai';
import fc from 'fast-check';
import { propertyRuns } from '../testing/property-runs.ts';
import { readyKey, type ReadyFields } from '../testing/ready-keys.ts';
import { ReadyKeys, type ReadyItem } from './ready-keys.ts';

const SLOTS = { group: 2, namespace: 3, total: 5 };

type Step =
  | { readonly do: 'add'; readonly fields: ReadyFields }
  | { readonly do: 'take' }
  | { readonly do: 'finish'; readonly nth: number };

const someFields: fc.Arbitrary<ReadyFields> = fc.record({
  namespace: fc.constantFrom('a', 'b', 'c'),
  group: fc.constantFrom('x', 'y', 'z'),
  priority: fc.constantFrom('low', 'normal', 'urgent'),
});
const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add'), fields: someFields }) },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'take' }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('finish'), nth: fc.nat(20) }) },
);

const groupOf = ({ namespace, group }: ReadyItem): string => `${namespace} ${group}`;
const countBy = (items: readonly ReadyItem[], one: ReadyItem, textOf: (item: ReadyItem) => string): number =>
  items.filter((item) => textOf(item) === textOf(one)).length;

/** Reports whether the item has a free slot next to the running items. */
const hasSlot = (item: ReadyItem, running: readonly ReadyItem[]): boolean =>
  running.length < SLOTS.total &&
  countBy(running, item, ({ namespace }) => namespace) < SLOTS.namespace &&
  countBy(running, item, groupOf) < SLOTS.group &&
  (item.priority !== 'low' ||
    hasSlotForLow(
      item,
      running.filter(({ priority }) => priority === 'low'),
    ));

/** Reports whether a key of priority low has a free slot: such keys use at most a quarter of the slots, rounded up. */
const hasSlotForLow = (item: ReadyItem, low: readonly ReadyItem[]): boolean =>
  low.length < 2 && countBy(low, item, ({ namespace }) => namespace) < 1;

describe('ReadyKeys with random keys', () => {
  it('hand out each key once, a key with a free slot whenever there is one, and never more than the slots', () =>
    fc.assert(
      fc.property(fc.array(someStep, { maxLength: 80, size: 'max' }), (steps) => {
        const keys = new ReadyKeys<ReadyItem>(SLOTS);
        let ready: readonly ReadyItem[] = [];
        let running: readonly ReadyItem[] = [];
        const take = (): void => {
          const taken = keys.take();
          expect(taken !== undefined, 'is one handed out').to.equal(ready.some((item) => hasSlot(item, running)));
          if (taken === undefined) return;
          expect(ready, 'a key that is ready').to.include(taken);
          expect(hasSlot(taken, running), 'a free slot').to.equal(true);
          ready = ready.filter((item) => item !== taken);
          running = [...running, taken];
        };
        const finish = (item: ReadyItem | undefined): void => {
          if (item === undefined) return;
          keys.finish(item);
          running = running.filter((other) => other !== item);
        };
        for (const [index, step] of steps.entries()) {
          if (step.do === 'add') {
            const item = readyKey(`${index}`, { ...step.fields, readySince: index });
            keys.add(item);
            ready = [...ready, item];
          } else if (step.do === 'take') take();
          else finish(running[step.nth % Math.max(1, running.length)]);
        }
        while (ready.length > 0 || running.length > 0) {
          take();
          finish(running[0]);
        }
      }),
      { numRuns: propertyRuns(200) },
    ));
});
