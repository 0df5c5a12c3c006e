import { expect } from 'chai';
import fc from 'fast-check';
import { keyOf } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import { propertyRuns, VirtualClock } from 'controller-runtime/testing';
import { ClusterName, ProfileName } from '../../api/names.ts';
import type { AWSFargateProfile } from '../../api/v1beta2/index.ts';
import { HERE, anObject } from './testing/builders.ts';
import { newClusterQueues } from './testing/cluster-queues.ts';

/** The plan for one simulated object and its one change in EKS. */
interface Plan {
  readonly arrives: Ms;
  /** Age and deletion determine the order of the objects in a cluster. Both clusters refer to the same EKS cluster. */
  readonly age: number;
  readonly isDeleted: boolean;
  readonly cluster: 'prod' | 'staging';
  /** How long the reconcile takes until its call is answered, and how long EKS then makes the change. */
  readonly call: Ms;
  readonly change: Ms;
  /** The delay between a wake-up and the reconcile. `undefined` if this object's wake-ups are lost. */
  readonly wakes: Ms | undefined;
  /** How many times something other than its turn stops the object before EKS accepts its change. */
  readonly stops: number;
  readonly vanishes: 'never' | 'waiting' | 'changing';
}

const anyPlan: fc.Arbitrary<Plan> = fc.record({
  arrives: fc.integer({ min: 0, max: 120_000 }),
  age: fc.integer({ min: 0, max: 3 }),
  isDeleted: fc.boolean(),
  cluster: fc.constantFrom('prod', 'prod', 'staging'),
  call: fc.integer({ min: 1, max: 60_000 }),
  change: fc.integer({ min: 100, max: 90_000 }),
  wakes: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined, freq: 4 }),
  stops: fc.constantFrom(0, 0, 1, 2),
  vanishes: fc.constantFrom('never', 'never', 'never', 'waiting', 'changing'),
});
/**
 * Returns the plan without disturbances: the object exists from the beginning until EKS has made its change, nothing
 * other than its turn stops it, and no wake-up is lost.
 */
const steady = (plan: Plan): Plan => ({
  ...plan,
  arrives: 0,
  cluster: 'prod',
  call: plan.call / 60,
  wakes: plan.wakes ?? 0,
  stops: 0,
  vanishes: 'never',
});

/**
 * `LOOK` is the interval at which a waiting object is reconciled even without a wake-up. `POLL` is the interval at
 * which a reconcile polls the change that it watches.
 */
const LOOK: Ms = 30_000;
const POLL: Ms = 5_000;
const QUEUE = 'queueKey';

interface Run {
  /** The names of the objects whose changes EKS has finished, in that order. */
  readonly done: readonly string[];
  readonly refusals: number;
  readonly mostTurns: number;
  /** The objects that were reported as next in turn although they did not want a turn. */
  readonly wrongFirsts: readonly string[];
  readonly ended: Ms;
}

function objectOf({ age, isDeleted, cluster }: Plan, name: string): AWSFargateProfile {
  const deletion = isDeleted && { deletionTimestamp: '2026-11-21T03:00:00Z' };
  return anObject({
    metadata: { name, uid: name, creationTimestamp: `2026-11-20T10:00:0${age}Z`, ...deletion },
    spec: { clusterName: ClusterName.of(cluster) },
    record: { in: HERE, profiles: [{ name: ProfileName.of(`team-a_${name}`), id: 'x' }] },
  });
}

/**
 * Carries out the plans against a simulated EKS, which makes one change at a time. It refuses other changes, and names
 * the changing profile.
 */
async function run(plans: readonly Plan[]): Promise<Run> {
  const clock = new VirtualClock();
  const passes = new Map<string, () => void>();
  const world = newClusterQueues(clock, ({ name }) => passes.get(name)?.());
  const { clusterQueues, put, remove, stopped, store } = world;
  const later = (delay: Ms, what: () => void): void => void clock.after(delay, what);
  const done: string[] = [];
  const wrongFirsts: string[] = [];
  let [turns, mostTurns, refusals, ended]: [number, number, number, Ms] = [0, 0, 0, 0];
  let inChange: string | undefined;

  plans.forEach((plan, index) => {
    const name = `p${index}`;
    const object = objectOf(plan, name);
    let state: 'waiting' | 'calling' | 'changing' | 'gone' = 'waiting';
    let [passed, stops] = [0, 0];
    const vanish = (): void => {
      state = 'gone';
      remove(object);
      clusterQueues.abandon(keyOf(object));
    };
    const stop = (delay: Ms): void => {
      world.stop(object);
      later(delay, reconcile);
    };
    /**
     * Lets the object wait again. Even if nothing wakes the object, its next reconcile follows after `LOOK`. With
     * `false`, the object still counts as waiting for its turn.
     */
    const wait = (): void => {
      world.stop(object, false);
      later(LOOK, reconcile);
    };
    const reconcile = (): void => {
      if (state !== 'waiting') return;
      if (plan.vanishes === 'waiting' && passed++ > 0) return vanish();
      if (clusterQueues.findAhead(QUEUE, object) !== undefined) return wait();
      if (stops < plan.stops && stops++ % 2 === 0) return stop(2_000);
      let ahead = clusterQueues.take(QUEUE, object, name, 'being created');
      if (ahead?.kind === 'wait' && ahead.isForeign) {
        if (inChange === ahead.ahead) clusterQueues.saw(QUEUE, ahead.ahead, 'changing');
        else clusterQueues.sawNoChange(QUEUE, ahead.ahead, object);
        ahead = clusterQueues.take(QUEUE, object, name, 'being created');
      }
      if (ahead?.kind === 'wait') {
        const first = ahead.ahead.replace('team-a_', '');
        const isThere = store.lookup({ namespace: 'team-a', name: first }).kind === 'found';
        if (ahead.doing === 'next in turn' && (!isThere || stopped.has(first))) wrongFirsts.push(first);
        return wait();
      }
      state = 'calling';
      mostTurns = Math.max(mostTurns, ++turns);
      later(plan.call, answer);
    };
    const answer = (): void => {
      turns--;
      state = 'waiting';
      if (inChange !== undefined) {
        refusals++;
        clusterQueues.saw(QUEUE, inChange, 'changing');
        clusterQueues.release(QUEUE, object);
        return wait();
      }
      if (stops < plan.stops) {
        stops++;
        clusterQueues.release(QUEUE, object);
        return stop(10_000);
      }
      state = 'changing';
      inChange = name;
      clusterQueues.saw(QUEUE, name, 'changing', object);
      clusterQueues.release(QUEUE, object);
      world.stop(object);
      later(plan.change, () => {
        inChange = undefined;
        done.push(name);
        ended = clock.monotonic();
      });
      if (plan.vanishes === 'changing') vanish();
      else later(Math.min(plan.change + 1, POLL), poll);
    };
    const poll = (): void => {
      if (inChange === name) {
        clusterQueues.saw(QUEUE, name, 'changing', object);
        return later(POLL, poll);
      }
      clusterQueues.sawNoChange(QUEUE, name, object);
      remove(object);
    };
    passes.set(name, () => plan.wakes !== undefined && later(plan.wakes, reconcile));
    later(plan.arrives, () => {
      put(object);
      reconcile();
    });
  });

  await clock.advance(plans.length * 300_000 + 300_000);
  return { done, refusals, mostTurns, wrongFirsts, ended };
}

const checkEachRun = (plans: fc.Arbitrary<readonly Plan[]>, rule: (result: Run, plans: readonly Plan[]) => void) =>
  fc.assert(
    fc.asyncProperty(plans, async (each) => {
      rule(await run(each), each);
    }),
    { numRuns: propertyRuns(100) },
  );

describe('A cluster queue with random objects', () => {
  const anyPlans = fc.array(anyPlan, { minLength: 1, maxLength: 8 });
  const steadyPlans = anyPlans.map((plans) => plans.map(steady));

  it('gives one turn at a time, however long a reconcile takes, and everybody gets a turn in the end', () =>
    checkEachRun(anyPlans, ({ mostTurns, done, wrongFirsts }, plans) => {
      expect(mostTurns).to.be.at.most(1);
      expect(wrongFirsts, 'an object that wants no turn holds up the others').to.deep.equal([]);
      expect(done).to.include.members(
        plans.flatMap(({ vanishes }, index) => (vanishes === 'never' ? [`p${index}`] : [])),
      );
    }));

  it('sends no change that EKS would refuse, if every change is watched until its end', () =>
    checkEachRun(
      anyPlans.map((plans) => plans.map((plan) => ({ ...plan, vanishes: 'never' }))),
      ({ refusals }) => expect(refusals).to.equal(0),
    ));

  it('gives the turns in order, and loses little time between two changes', () =>
    checkEachRun(steadyPlans, ({ done, ended }, plans) => {
      const order = plans
        .map(({ isDeleted, age }, index) => ({ name: `p${index}`, rank: `${isDeleted ? 0 : 1} ${age} ${index}` }))
        .toSorted((one, other) => (one.rank < other.rank ? -1 : 1));
      // The objects arrive one after the other, so `p0` may begin before an object arrives that comes before it in the
      // order.
      const [first, ...rest] = done;
      expect(first).to.equal('p0');
      expect(rest).to.deep.equal(order.map(({ name }) => name).filter((name) => name !== 'p0'));
      const needed = plans.reduce((sum, { call, change, wakes = 0 }) => sum + call + change + wakes, 0);
      expect(ended).to.be.at.most(needed + plans.length * POLL);
    }));
});
