import { expect } from 'chai';
import fc from 'fast-check';
import type { Ms } from '../../env/clock.ts';
import { propertyRuns } from '../../env/testing/property-runs.ts';
import { VirtualClock } from '../../env/testing/virtual-clock.ts';
import type { QueueEntry } from './cluster-queue.ts';
import { ClusterQueue } from './cluster-queue.ts';

/** The plan for one simulated Fargate profile and its one change in EKS. */
interface Plan {
  /**
   * The time of the profile's first request for a turn. A turn is the permission to start a change in EKS. `age` and
   * `urgent` order the queue: an urgent entry goes before all other entries, and a lower `age` means an older entry.
   */
  readonly arrives: Ms;
  readonly age: number;
  readonly urgent: boolean;
  /** `call` is how long the AWS call takes that starts the change. `change` is how long EKS then makes the change. */
  readonly call: Ms;
  readonly change: Ms;
  /**
   * The delay between a wake-up of the profile and its next call of `requestTurn`; `undefined`: the wake-ups of this
   * profile are lost.
   */
  readonly wakes: Ms | undefined;
  /**
   * When the Kubernetes object of the profile disappears: while the profile waits in the queue, while EKS makes its
   * change, or never.
   */
  readonly vanishes: 'never' | 'waiting' | 'changing';
}

const planArbitrary: fc.Arbitrary<Plan> = fc.record({
  arrives: fc.integer({ min: 0, max: 120_000 }),
  age: fc.integer({ min: 0, max: 3 }),
  urgent: fc.boolean(),
  call: fc.integer({ min: 1, max: 2_000 }),
  change: fc.integer({ min: 100, max: 90_000 }),
  wakes: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined, freq: 4 }),
  vanishes: fc.constantFrom('never', 'never', 'never', 'waiting', 'changing'),
});

const steady = (plan: Plan): Plan => ({ ...plan, vanishes: 'never' });

/**
 * `LOOK` is the interval at which a waiting entry calls `requestTurn`. `POLL` is the interval at which a simulated
 * reconcile checks whether EKS has finished the change of its profile.
 */
const LOOK: Ms = 30_000;
const POLL: Ms = 15_000;
const QUEUE = 'queue';

/** What happened in one simulation of the cluster queue. */
interface RunResult {
  /** The names of the profiles, in the order in which EKS finished their changes. */
  readonly done: readonly string[];
  readonly refusals: number;
  readonly mostAtOnce: number;
  readonly ended: Ms;
  /**
   * The names of the entries that could start their change although the queue had reserved the next change for an entry
   * before them.
   */
  readonly skippedReservations: readonly string[];
}

/**
 * Carries out the planned changes of all objects against a simulated EKS. This EKS makes one change at a time, and
 * names that change when it rejects another one.
 */
async function runPlans(plans: readonly Plan[]): Promise<RunResult> {
  const clock = new VirtualClock();
  const done: string[] = [];
  const skippedReservations: string[] = [];
  const looks = new Map<string, () => void>();
  let [refusals, holders, mostAtOnce] = [0, 0, 0];
  let [inChange, ended]: [string | undefined, Ms] = [undefined, 0];
  let next: { readonly entry: QueueEntry; readonly until: Ms } | undefined;
  const entries = new Map<string, QueueEntry>();

  const clusterQueue = new ClusterQueue({
    clock,
    wake: (id) => {
      const entry = entries.get(id);
      if (entry !== undefined) next = { entry, until: clock.monotonic() + 5_000 };
      looks.get(id)?.();
    },
  });

  plans.forEach((plan, index) => {
    const name = `p${index}`;
    const entry: QueueEntry = { queue: QUEUE, id: name, name, urgent: plan.urgent, createdAt: `${plan.age}` };
    entries.set(name, entry);
    let state: 'new' | 'waiting' | 'calling' | 'changing' | 'ended' = 'new';
    let asked = 0;
    const later = (delay: Ms, what: () => void): void => void clock.after(delay, what);

    const look = (): void => {
      if (state !== 'waiting' && state !== 'new') return;
      if (plan.vanishes === 'waiting' && asked > 0) {
        state = 'ended';
        return;
      }
      state = 'waiting';
      asked++;
      const turn = clusterQueue.requestTurn(entry);
      if (turn.kind !== 'granted') return later(LOOK, look);
      const isKept = next !== undefined && next.entry.id !== name && clock.monotonic() < next.until;
      if (isKept && next !== undefined && isBefore(next.entry, entry)) skippedReservations.push(name);
      next = undefined;
      state = 'calling';
      mostAtOnce = Math.max(mostAtOnce, ++holders);
      later(plan.call, () => {
        holders--;
        if (inChange !== undefined) {
          refusals++;
          clusterQueue.markInFlight(QUEUE, inChange, 'changing', true);
          clusterQueue.releaseTurn(entry);
          state = 'waiting';
          return later(5_000, look);
        }
        inChange = name;
        state = 'changing';
        clusterQueue.markAccepted(entry, 'changing');
        later(plan.change, () => {
          inChange = undefined;
          done.push(name);
          ended = clock.monotonic();
        });
        if (plan.vanishes === 'never') later(Math.min(plan.change + 1, POLL), poll);
      });
    };
    const poll = (): void => {
      if (inChange === name) {
        clusterQueue.markInFlight(QUEUE, name, 'changing', false);
        return later(POLL, poll);
      }
      state = 'ended';
      clusterQueue.markSettled(QUEUE, name);
    };
    looks.set(name, () => plan.wakes !== undefined && later(plan.wakes, look));
    later(plan.arrives, look);
  });

  await clock.advance(plans.length * 200_000 + 300_000);
  return { done, refusals, mostAtOnce, ended, skippedReservations };
}

const isBefore = (a: QueueEntry, b: QueueEntry): boolean =>
  a.urgent === b.urgent ? (a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt) : a.urgent;

const checkEachRun = (
  arbitrary: fc.Arbitrary<readonly Plan[]>,
  rule: (result: RunResult, plans: readonly Plan[]) => void,
) =>
  fc.assert(
    fc.asyncProperty(arbitrary, async (plans) => {
      rule(await runPlans(plans), plans);
    }),
    { numRuns: propertyRuns(100) },
  );

describe('The cluster queue with random entries', () => {
  const anyPlans = fc.array(planArbitrary, { minLength: 1, maxLength: 8 });
  const steadyPlans = anyPlans.map((plans) => plans.map(steady));

  it('never grants two turns at once', () =>
    checkEachRun(anyPlans, ({ mostAtOnce }) => expect(mostAtOnce).to.be.at.most(1)));

  it('grants no turn for a change that EKS would reject, if every change is observed until its end', () =>
    checkEachRun(steadyPlans, ({ refusals }) => expect(refusals).to.equal(0)));

  it('grants every waiting entry a turn in the end, whatever entries vanish and wake-ups are lost', () =>
    checkEachRun(anyPlans, ({ done }, plans) => {
      const owed = plans.flatMap(({ vanishes }, index) => (vanishes === 'never' ? [`p${index}`] : []));
      expect(done).to.include.members(owed);
    }));

  it('grants no turn to an entry while an earlier entry has a reservation', () =>
    checkEachRun(anyPlans, ({ skippedReservations }) => expect(skippedReservations).to.deep.equal([])));

  it('grants turns in order when all entries wait and no wake-up is lost', () =>
    checkEachRun(
      steadyPlans.map((plans) => plans.map((plan) => ({ ...plan, arrives: 0, wakes: plan.wakes ?? 0 }))),
      ({ done }, plans) => {
        const entries = plans.map((plan, index) => ({
          id: `p${index}`,
          name: '',
          queue: QUEUE,
          urgent: plan.urgent,
          createdAt: `${plan.age}`,
        }));
        const [first, ...rest] = done;
        // The first entry that calls `requestTurn` may start its change at once, because the cluster queue is empty.
        expect(first).to.equal('p0');
        const inOrder = entries.slice(1).toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
        expect(rest).to.deep.equal(inOrder.map(({ id }) => id));
      },
    ));

  it('loses little time between two changes', () =>
    checkEachRun(
      steadyPlans.map((plans) => plans.map((plan) => ({ ...plan, arrives: 0, wakes: plan.wakes ?? 0 }))),
      ({ ended }, plans) => {
        const needed = plans.reduce((sum, { call, change, wakes = 0 }) => sum + call + change + wakes, 0);
        expect(ended).to.be.at.most(needed + plans.length * POLL);
      },
    ));
});
