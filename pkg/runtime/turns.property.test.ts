import { expect } from 'chai';
import fc from 'fast-check';
import type { Ms } from '../env/clock.ts';
import { VirtualClock } from '../env/testing/virtual-clock.ts';
import type { Ticket } from './turns.ts';
import { Turns } from './turns.ts';

/** One that wants to make one change. */
interface Plan {
  /** When it comes, how old it is, and whether it goes before others. */
  readonly arrives: Ms;
  readonly age: number;
  readonly urgent: boolean;
  /** How long the call takes, and then the change. */
  readonly call: Ms;
  readonly change: Ms;
  /** How long after a wake-up it looks; without, the wake-up is lost. */
  readonly wakes: Ms | undefined;
  /** Its manager forgets it once it has asked that often, or once its change goes on. */
  readonly vanishes: 'never' | 'waiting' | 'changing';
}

const aPlan: fc.Arbitrary<Plan> = fc.record({
  arrives: fc.integer({ min: 0, max: 120_000 }),
  age: fc.integer({ min: 0, max: 3 }),
  urgent: fc.boolean(),
  call: fc.integer({ min: 1, max: 2_000 }),
  change: fc.integer({ min: 100, max: 90_000 }),
  wakes: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined, freq: 4 }),
  vanishes: fc.constantFrom('never', 'never', 'never', 'waiting', 'changing'),
});

const steady = (plan: Plan): Plan => ({ ...plan, vanishes: 'never' });

/** Waiters look for themselves, at the latest after that; who changes something looks whether it has ended. */
const LOOK: Ms = 30_000;
const POLL: Ms = 15_000;
const LANE = 'lane';

/** What came of a whole story. */
interface Story {
  /** In the order in which changes were made. */
  readonly done: readonly string[];
  readonly refusals: number;
  readonly mostAtOnce: number;
  readonly ended: Ms;
  /** Turns that were given while the place was kept for another one that goes before. */
  readonly jumped: readonly string[];
}

/** Lets all of them come, wait, change; the other side takes one change at a time, and says who is ahead. */
async function tell(plans: readonly Plan[]): Promise<Story> {
  const clock = new VirtualClock();
  const done: string[] = [];
  const jumped: string[] = [];
  const looks = new Map<string, () => void>();
  let [refusals, holders, mostAtOnce] = [0, 0, 0];
  let [inChange, ended]: [string | undefined, Ms] = [undefined, 0];
  let next: { readonly ticket: Ticket; readonly until: Ms } | undefined;
  const tickets = new Map<string, Ticket>();

  const turns = new Turns({
    clock,
    wake: (id) => {
      const ticket = tickets.get(id);
      if (ticket !== undefined) next = { ticket, until: clock.monotonic() + 5_000 };
      looks.get(id)?.();
    },
  });

  plans.forEach((plan, index) => {
    const name = `p${index}`;
    const ticket: Ticket = { lane: LANE, id: name, name, urgent: plan.urgent, createdAt: `${plan.age}` };
    tickets.set(name, ticket);
    let state: 'coming' | 'waiting' | 'calling' | 'changing' | 'over' = 'coming';
    let asked = 0;
    const later = (delay: Ms, what: () => void): void => void clock.after(delay, what);

    const look = (): void => {
      if (state !== 'waiting' && state !== 'coming') return;
      if (plan.vanishes === 'waiting' && asked > 0) {
        state = 'over';
        return;
      }
      state = 'waiting';
      asked++;
      const turn = turns.ask(ticket);
      if (turn.kind !== 'yours') return later(LOOK, look);
      const isKept = next !== undefined && next.ticket.id !== name && clock.monotonic() < next.until;
      if (isKept && next !== undefined && goesBefore(next.ticket, ticket)) jumped.push(name);
      next = undefined;
      state = 'calling';
      mostAtOnce = Math.max(mostAtOnce, ++holders);
      later(plan.call, () => {
        holders--;
        if (inChange !== undefined) {
          refusals++;
          turns.busy(LANE, inChange, 'changing', true);
          turns.release(ticket);
          state = 'waiting';
          return later(5_000, look);
        }
        inChange = name;
        state = 'changing';
        turns.accepted(ticket, 'changing');
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
        turns.busy(LANE, name, 'changing', false);
        return later(POLL, poll);
      }
      state = 'over';
      turns.settled(LANE, name);
    };
    looks.set(name, () => plan.wakes !== undefined && later(plan.wakes, look));
    later(plan.arrives, look);
  });

  await clock.advance(plans.length * 200_000 + 300_000);
  return { done, refusals, mostAtOnce, ended, jumped };
}

const goesBefore = (a: Ticket, b: Ticket): boolean =>
  a.urgent === b.urgent ? (a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt) : a.urgent;

const inEachStory = (arbitrary: fc.Arbitrary<readonly Plan[]>, rule: (story: Story, plans: readonly Plan[]) => void) =>
  fc.assert(
    fc.asyncProperty(arbitrary, async (plans) => {
      rule(await tell(plans), plans);
    }),
    { numRuns: 100 },
  );

describe('Turns, whoever comes', () => {
  const anyPlans = fc.array(aPlan, { minLength: 1, maxLength: 8 });
  const steadyPlans = anyPlans.map((plans) => plans.map(steady));

  it('never has the turn twice at once', () =>
    inEachStory(anyPlans, ({ mostAtOnce }) => expect(mostAtOnce).to.be.at.most(1)));

  it('asks for no change that would be refused, as long as all who change something look after it', () =>
    inEachStory(steadyPlans, ({ refusals }) => expect(refusals).to.equal(0)));

  it('lets nobody starve, whoever vanishes and whichever wake-ups are lost', () =>
    inEachStory(anyPlans, ({ done }, plans) => {
      const owed = plans.flatMap(({ vanishes }, index) => (vanishes === 'never' ? [`p${index}`] : []));
      expect(done).to.include.members(owed);
    }));

  it('passes the place over those that goes before others', () =>
    inEachStory(anyPlans, ({ jumped }) => expect(jumped).to.deep.equal([])));

  it('lets all that wait go in order, when all are there and hear the call', () =>
    inEachStory(
      steadyPlans.map((plans) => plans.map((plan) => ({ ...plan, arrives: 0, wakes: plan.wakes ?? 0 }))),
      ({ done }, plans) => {
        const tickets = plans.map((plan, index) => ({
          id: `p${index}`,
          name: '',
          lane: LANE,
          urgent: plan.urgent,
          createdAt: `${plan.age}`,
        }));
        const [first, ...rest] = done;
        // Whoever asks first finds the lane free.
        expect(first).to.equal('p0');
        const inOrder = tickets.slice(1).toSorted((a, b) => (goesBefore(a, b) ? -1 : 1));
        expect(rest).to.deep.equal(inOrder.map(({ id }) => id));
      },
    ));

  it('wastes little time between one change and the next', () =>
    inEachStory(
      steadyPlans.map((plans) => plans.map((plan) => ({ ...plan, arrives: 0, wakes: plan.wakes ?? 0 }))),
      ({ ended }, plans) => {
        const needed = plans.reduce((sum, { call, change, wakes = 0 }) => sum + call + change + wakes, 0);
        expect(ended).to.be.at.most(needed + plans.length * POLL);
      },
    ));
});
