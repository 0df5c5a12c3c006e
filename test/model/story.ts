import { explore, type Exploration, settled } from './explore.ts';
import { Passes } from './passes.ts';
import { findBroken } from './safety.ts';
import { type Scenario, transitionsFrom } from './transitions.ts';
import { Numbers, type World } from './world.ts';

/**
 * Replays a story, and then explores everything that can follow without further actions and faults. The manager's code
 * may have changed since: a reconcile may make more requests between two lines, and its own lines may be missing. An action
 * or a fault must still be possible.
 */
export async function replay(scenario: Scenario, story: readonly string[]): Promise<Exploration['broken']> {
  const passes = new Passes(new Numbers());
  let world = await settled(scenario, passes);
  for (const [index, line] of story.entries()) {
    const [label = ''] = line.split(' · ');
    const taken = await reach(world, label, scenario, passes);
    if (taken === undefined && !label.endsWith(': done'))
      throw new Error(`the story has no line ${index + 1} any more: ${label}`);
    const what = taken?.harm ?? (taken && findBroken(taken.world));
    if (what !== undefined) return { what, story: story.slice(0, index + 1) };
    world = taken?.world ?? world;
  }
  const ledger = { ...world.ledger, actions: 0, faults: 0 };
  return (await explore(scenario, { start: { ...world, ledger } })).broken;
}

/** The transition with the label, now or later in the reconcile that is going on. */
async function reach(start: World, label: string, scenario: Scenario, passes: Passes) {
  let world = start;
  for (;;) {
    const all = await transitionsFrom(world, scenario, passes);
    const taken = all.find((each) => each.label === label);
    const next = taken ?? all.find(({ kind, agent }) => kind === 'fair' && agent.endsWith(' at work'));
    if (taken !== undefined || next === undefined) return taken;
    ({ world } = next);
  }
}
