import type { KubeObject } from 'controller-runtime/client';
import { isRecord } from 'controller-runtime/json';
import { KIND } from '../../api/v1beta2/index.ts';
import { fairComponents } from './fairness.ts';
import { Passes } from './passes.ts';
import { conditionsOf } from '../simulation/world/problems.ts';
import { restsOf } from './rest.ts';
import { findBroken } from './safety.ts';
import { States } from './states.ts';
import { type Scenario, type Transition, transitionsFrom } from './transitions.ts';
import { pathOf, Rows, type World } from './world.ts';

export interface Exploration {
  readonly name: string;
  readonly states: number;
  readonly transitions: number;
  /** The largest distance between the start and a state, in transitions. */
  readonly diameter: number;
  /** False if the exploration ended at its limit, or with a broken property. */
  readonly isComplete: boolean;
  /** The number of states in which an object rests, by the way in which it rests (`as` in rest.ts), e.g. `Ready`. */
  readonly rests: Readonly<Record<string, number>>;
  /** All condition reasons that occur in the explored states. */
  readonly reasons: readonly string[];
  /** A broken property, and the shortest story that leads to it. */
  readonly broken: { readonly what: string; readonly story: readonly string[] } | undefined;
}

const MOST_TURNS = 1_000;

interface Broken {
  readonly what: string;
  readonly state: number;
  /** The transition from `state` that breaks the property; undefined: `state` itself breaks the property. */
  readonly last?: Transition;
}

/**
 * Explores a scenario breadth first, so that the story of a broken property is as short as possible. If all states are
 * reached, it also checks that the controller comes to rest from each of them where the users want it.
 */
export async function explore(
  scenario: Scenario,
  { mostTransitions = scenario.mostTransitions ?? Infinity, start }: { mostTransitions?: number; start?: World } = {},
): Promise<Exploration> {
  const paths = [...Object.keys(scenario.start.objects), ...scenario.profiles.map(pathOf)];
  const rows = new Rows(paths, scenario.managers.length);
  const states = new States(rows);
  const passes = new Passes(rows.numbers);
  const fair = { firsts: [0], targets: [] as number[], agents: [] as number[], names: [] as string[] };
  states.add(start ?? (await settled(scenario, passes)), -1);
  let transitions = 0;
  let broken: Broken | undefined;
  let state = 0;
  for (; state < states.size && transitions < mostTransitions && broken === undefined; state++) {
    for (const transition of await transitionsFrom(states.world(state), scenario, passes)) {
      transitions++;
      const { size } = states;
      const target = states.add(transition.world, state);
      const what = transition.harm ?? (target === size ? findBroken(transition.world) : undefined);
      if (what !== undefined) {
        broken = { what, state, last: transition };
        break;
      }
      if (transition.kind !== 'fair') continue;
      fair.targets.push(target);
      const known = fair.names.indexOf(transition.agent);
      fair.agents.push(known === -1 ? fair.names.push(transition.agent) - 1 : known);
    }
    fair.firsts.push(fair.targets.length);
  }
  if (fair.names.length > 32) throw new Error(`too many agents: ${fair.names.join(', ')}`);
  const isComplete = state === states.size && broken === undefined;
  const rests: Record<string, number> = {};
  if (isComplete) broken = findUnrest(scenario, states, fair, rests);
  return {
    name: scenario.name,
    states: states.size,
    transitions,
    diameter: states.diameter,
    isComplete,
    rests,
    reasons: reasonsIn(rows),
    broken: broken && { what: broken.what, story: await storyOf(broken, scenario, states, passes) },
  };
}

/**
 * Runs the actions of `before`, and then lets the agents act until all objects are as the users want them. The agent
 * that has waited longest acts next.
 */
export async function settled(scenario: Scenario, passes: Passes): Promise<World> {
  const { before, start } = scenario;
  let world = before.reduce((now, { apply }) => apply(now) ?? now, start);
  const lastTurns = new Map<string, number>();
  for (let turn = 0; restsOf(world, scenario).some(({ kind }) => kind === 'wrong'); turn++) {
    const fair = (await transitionsFrom(world, scenario, passes)).filter(({ kind }) => kind === 'fair');
    const lastTurn = ({ agent }: Transition): number => (agent === 'time' ? Infinity : (lastTurns.get(agent) ?? -1));
    const [next] = fair.toSorted((a, b) => lastTurn(a) - lastTurn(b));
    if (next === undefined || turn === MOST_TURNS) throw new Error('the controller does not come to rest');
    lastTurns.set(next.agent, turn);
    ({ world } = next);
  }
  return world;
}

/**
 * Returns a state in which the controller can stay forever although an object is not as the users want it. Counts in
 * `rests` how the objects rest in the other states.
 */
function findUnrest(
  scenario: Scenario,
  states: States,
  { firsts, targets, agents }: Record<'firsts' | 'targets' | 'agents', readonly number[]>,
  rests: Record<string, number>,
): Broken | undefined {
  const graph = { firsts: Int32Array.from(firsts), targets: Int32Array.from(targets), agents: Uint8Array.from(agents) };
  for (const component of fairComponents(graph)) {
    for (const state of component) {
      for (const rest of restsOf(states.world(state), scenario)) {
        if (rest.kind === 'wrong') return { what: `${rest.because}, forever`, state };
        rests[rest.as] = (rests[rest.as] ?? 0) + 1;
      }
    }
  }
  return undefined;
}

/** Returns the labels and Events of the transitions from the start to the broken property. */
async function storyOf(
  { state, last }: Broken,
  scenario: Scenario,
  states: States,
  passes: Passes,
): Promise<readonly string[]> {
  const story: string[] = last === undefined ? [] : [last.label];
  for (let at = state; states.parent(at) !== -1; at = states.parent(at)) {
    const before = states.world(states.parent(at));
    const taken = (await transitionsFrom(before, scenario, passes)).find(({ world }) => states.add(world, -1) === at);
    story.unshift([taken?.label, ...(taken?.events ?? []).map((event) => `event ${event}`)].join(' · '));
  }
  return story;
}

function reasonsIn({ numbers }: Rows): readonly string[] {
  const found = new Set<string>();
  for (let number = 1; number < numbers.size; number++) {
    const value = numbers.value(number);
    if (isRecord(value) && value['kind'] === KIND)
      for (const { reason = '' } of conditionsOf(value as KubeObject)) found.add(reason);
  }
  return [...found].toSorted();
}
