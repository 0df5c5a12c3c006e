import { expect } from 'chai';
import fc from 'fast-check';
import type { ReadyFields } from '../testing/ready-keys.ts';
import { propertyRuns } from '../../env/testing/property-runs.ts';
import { readyKey } from '../testing/ready-keys.ts';
import type { ReadyItem } from './ready-keys.ts';
import { ReadyKeys } from './ready-keys.ts';

const WORKERS = 4;
const SECOND = 1_000;
const RUNS = { numRuns: propertyRuns(200) };

type Step =
  | { readonly do: 'add'; readonly fields: ReadyFields }
  | { readonly do: 'take' }
  | { readonly do: 'finish'; readonly nth: number }
  | { readonly do: 'pass'; readonly span: number };

const someFields: fc.Arbitrary<ReadyFields> = fc.record({
  namespace: fc.constantFrom('a', 'b', 'c'),
  cluster: fc.constantFrom('x', 'y'),
  order: fc.constantFrom('1', '2', '3'),
  priority: fc.constantFrom('low', 'normal', 'head', 'high'),
  region: fc.constantFrom('eu-west-1', 'us-east-1', 'ap-south-1'),
});
const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add'), fields: someFields }) },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'take' }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('finish'), nth: fc.nat(20) }) },
  fc.record({ do: fc.constant('pass'), span: fc.integer({ min: 0, max: 8 * SECOND }) }),
);

/** An attempt to take a key, with the ready and the running keys that the test itself has recorded. */
interface Counted {
  readonly taken: ReadyItem | undefined;
  /** The ready and the running keys before the step. */
  readonly ready: readonly ReadyItem[];
  readonly running: readonly ReadyItem[];
}

/** Runs the steps, and calls `look` with the result of each attempt to take a key. */
function run(steps: readonly Step[], look: (counted: Counted) => void): void {
  const keys = new ReadyKeys<ReadyItem>({ workers: WORKERS, isHead: ({ order }) => order === '1' });
  let [now, added] = [0, 0];
  let ready: readonly ReadyItem[] = [];
  let running: readonly ReadyItem[] = [];
  const take = (): boolean => {
    const taken = keys.take(now);
    look({ taken, ready, running });
    if (taken === undefined) return false;
    expect(ready, 'a key that is ready').to.include(taken);
    ready = ready.filter((item) => item !== taken);
    running = [...running, taken];
    return true;
  };
  const finish = (item: ReadyItem): void => {
    keys.finish(item);
    running = running.filter((other) => other !== item);
  };
  for (const step of steps) {
    if (step.do === 'add') {
      const item = readyKey(`${++added}`, { ...step.fields, readySince: now });
      keys.add(item);
      ready = [...ready, item];
    } else if (step.do === 'take') take();
    else if (step.do === 'pass') now += step.span;
    else {
      const item = running[step.nth % Math.max(1, running.length)];
      if (item !== undefined) finish(item);
    }
    expect(keys.size).to.equal(ready.length);
  }
  // Takes and finishes keys until none is left, because every key must be handed out in the end.
  while (ready.length > 0 || running.length > 0) {
    if (take()) continue;
    const [item] = running;
    expect(item, 'no key is running and none is handed out').not.to.equal(undefined);
    if (item !== undefined) finish(item);
  }
}

const countBy = (items: readonly ReadyItem[], textOf: (item: ReadyItem) => string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(textOf(item), (counts.get(textOf(item)) ?? 0) + 1);
  return counts;
};
const namespaceOf = ({ namespace }: ReadyItem): string => namespace;
const regionOf = ({ namespace, backend }: ReadyItem): string => `${namespace} ${backend.region}`;
/** Whether a namespace has a ready key, and no key that is running. */
const isNamespaceIdle = ({ ready, running }: Counted): boolean =>
  ready.some((item) => !countBy(running, namespaceOf).has(item.namespace));

describe('ReadyKeys with random keys', () => {
  const always = (look: (counted: Counted) => void): void =>
    fc.assert(
      fc.property(fc.array(someStep, { maxLength: 80, size: 'max' }), (steps) => run(steps, look)),
      RUNS,
    );

  it('loses no key and hands out none twice', () => always(() => {}));

  it('leaves no worker idle while a key is ready', () =>
    always(({ taken, ready, running }) => {
      if (ready.length > 0 && running.length < WORKERS) expect(taken).not.to.equal(undefined);
    }));

  it('gives a region nothing beyond the share of its namespace while another namespace has none running', () =>
    always((counted) => {
      const { taken, ready, running } = counted;
      if (taken === undefined || !isNamespaceIdle(counted)) return;
      const share = Math.floor(WORKERS / countBy([...ready, ...running], namespaceOf).size);
      expect(countBy(running, regionOf).get(regionOf(taken)) ?? 0).to.be.below(share);
    }));

  it('never makes a namespace wait of which no key is running', () =>
    always((counted) => {
      if (counted.taken === undefined) expect(isNamespaceIdle(counted)).to.equal(false);
    }));

  it('runs at most four times as many keys as workers, three times of a namespace, and two times of its region', () =>
    always(({ running }) => {
      expect(running.length).to.be.at.most(4 * WORKERS);
      for (const count of countBy(running, namespaceOf).values()) expect(count).to.be.at.most(3 * WORKERS);
      for (const count of countBy(running, regionOf).values()) expect(count).to.be.at.most(2 * WORKERS);
    }));

  it('runs no more keys of a region of a namespace than there are workers, unless some have priority high', () =>
    always(({ running }) => {
      const ordinary = running.filter(({ priority }) => priority !== 'high');
      for (const count of countBy(ordinary, regionOf).values()) expect(count).to.be.at.most(WORKERS);
    }));
});

describe('ReadyKeys under a flood of one namespace', () => {
  /**
   * Adds one key among many keys of the namespace `flood`. The reconcile of each `flood` key takes a tenth of a second,
   * and then the key is added again at once. Returns how many keys are handed out before the one key.
   */
  function countBefore(one: ReadyFields, floods: readonly ReadyFields[]): number {
    const keys = new ReadyKeys<ReadyItem>({ workers: 1 });
    let now = 0;
    floods.forEach((fields, index) => keys.add(readyKey(`flood-${index}`, { namespace: 'flood', ...fields })));
    keys.add(readyKey('one', { namespace: 'one', ...one }));
    for (let taken = 0; taken < 10_000; taken++) {
      const item = keys.take(now);
      if (item === undefined) throw new Error('no key was handed out');
      if (item.id === 'one') return taken;
      now += SECOND / 10;
      keys.finish(item);
      keys.add({ ...item, readySince: now });
    }
    return Infinity;
  }
  const someFlood = fc.array(
    fc.record({
      cluster: fc.string({ maxLength: 2 }),
      order: fc.constantFrom('0', '1'),
      priority: fc.constantFrom('normal', 'high'),
    }),
    { minLength: 1, maxLength: 200, size: 'max' },
  );

  it('hands out a key of another namespace and the same priority within two hand-outs', () => {
    fc.assert(
      fc.property(someFlood, (floods) => {
        const high = floods.map((fields) => ({ ...fields, priority: 'high' as const }));
        expect(countBefore({ priority: 'high' }, high)).to.be.at.most(2);
      }),
      RUNS,
    );
  });

  it('hands out a low key when it is old, after the keys that are older', () => {
    fc.assert(
      fc.property(someFlood, (floods) => {
        // A key is old after ten seconds. In this test the queue hands out 100 keys in ten seconds. From then on, every
        // fourth key that the queue hands out is the oldest key.
        expect(countBefore({ priority: 'low' }, floods)).to.be.at.most(100 + 4 * (floods.length + 1));
      }),
      RUNS,
    );
  });
});
