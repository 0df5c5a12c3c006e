import { explore, type Exploration, settled } from './explore.ts';
import { Passes } from './passes.ts';
import { findBroken } from './safety.ts';
import { type Scenario, transitionsFrom } from './transitions.ts';
import { Numbers, type World } from './world.ts';

/**
 * Replays a story, and then explores everything that can follow without further actions and faults. The product may
 * have changed since the story was saved: a reconcile may make additional requests between two lines, and the lines of
 * its own requests may no longer apply. But every action and fault of the story must still be possible.
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

/** Returns the transition with the label. If it is not possible yet, first continues the running reconcile. */
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
