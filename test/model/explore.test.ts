import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { arnOfProfile } from './aws.ts';
import { explore } from './explore.ts';
import { fairComponents } from './fairness.ts';
import { findBroken, findHarm } from './safety.ts';
import { scenarioNamed } from './scenarios.ts';
import { replay } from './story.ts';
import type { Fault, Scenario } from './transitions.ts';
import type { World } from './world.ts';

/**
 * Reduces a scenario, so that its exploration takes only seconds. `make verify` explores the whole scenarios, which
 * takes minutes.
 */
const limited = (scenario: Scenario, actions: number, faults: readonly Fault[]): Scenario => ({
  ...scenario,
  faults,
  start: { ...scenario.start, ledger: { ...scenario.start.ledger, actions, faults: faults.length > 0 ? 1 : 0 } },
});

describe('The exploration of the controller', () => {
  it('reaches all states of a life with a crash, breaks nothing, and comes to rest from each', async () => {
    const { broken, isComplete, transitions, rests } = await explore(limited(scenarioNamed('life'), 2, ['crash']));
    expect(broken?.story.join('\n'), broken?.what).to.equal(undefined);
    expect(isComplete).to.equal(true);
    expect(transitions).to.be.greaterThan(30_000);
    expect(Object.keys(rests).toSorted()).to.deep.equal(['Ready', 'SpecDiffers', 'gone']);
  });

  it('breaks nothing in the first 70,000 transitions with pauses', async () => {
    const { broken, transitions } = await explore(scenarioNamed('pause'), { mostTransitions: 70_000 });
    expect(broken?.story.join('\n'), broken?.what).to.equal(undefined);
    expect(transitions).to.be.at.least(70_000);
  });

  it('tells the shortest story of an object that never becomes Ready', async () => {
    const taken = limited(scenarioNamed('tags'), 2, []);
    const actions = taken.actions.filter(({ label }) => label.includes('creates'));
    const { broken } = await explore({ ...taken, actions, stalls: [] });
    expect(broken?.what).to.match(/^web is not Ready: .*Stalled True ProfileNotOwned, forever$/);
    expect(broken?.story).to.include('a stranger creates profile team-a_web');
    expect(broken?.story).to.include('write status of web (ready: false): done · event ProfileNotOwned');
  });
});

describe('The story of a defect that is mended', () => {
  const STORIES = new URL('stories/', import.meta.url);
  for (const file of readdirSync(STORIES)) {
    const [scenario = '', ...story] = readFileSync(new URL(file, STORIES), 'utf8').trim().split('\n');
    it(file, async () => {
      const broken = await replay(scenarioNamed(scenario), story);
      expect(broken?.story.join('\n'), broken?.what).to.equal(undefined);
    });
  }
});

describe('The properties of a state', () => {
  const role = { serial: 1, path: '/', trust: '', tags: {}, attached: [] };
  const profile = {
    status: 'ACTIVE',
    serial: 1,
    createdAt: 0,
    role: 'arn:aws:iam::111122223333:role/a',
    subnets: [],
    selectors: [],
    tags: {},
  } as const;
  const { start } = scenarioNamed('life');
  const world = (aws: Partial<World['aws']>): World => ({ ...start, aws: { ...start.aws, ...aws } });

  it('are broken by a profile or role whose object is gone, unless it was retained or is used', () => {
    expect(findBroken(world({ profiles: { a: { ...profile, by: 'web' } } }))).to.equal('profile a of web is leaked');
    expect(findBroken(world({ roles: { a: { ...role, by: 'web' } } }))).to.equal('role a of web is leaked');
    const kept = world({ profiles: { a: { ...profile, by: 'web' } } });
    expect(findBroken({ ...kept, ledger: { ...kept.ledger, retained: [arnOfProfile('a', profile)] } })).to.equal(
      undefined,
    );
    expect(
      findBroken(world({ roles: { a: { ...role, by: 'web' } }, profiles: { b: { ...profile, by: 'stranger' } } })),
    ).to.equal(undefined);
  });

  it('are broken by a change of what a stranger owns, and by the deletion of a role in use', () => {
    const deletion = { to: 'aws', call: 'DeleteFargateProfile', name: 'a' } as const;
    expect(findHarm(world({ profiles: { a: { ...profile, by: 'stranger' } } }), deletion, 'web', [])).to.equal(
      'DeleteFargateProfile changes profile a of stranger',
    );
    const used = world({ roles: { a: { ...role, by: 'web' } }, profiles: { b: { ...profile, by: 'web' } } });
    expect(findHarm(used, { to: 'aws', call: 'DeleteRole', name: 'a' }, 'web', [])).to.equal(
      'role a is deleted under profile b',
    );
  });
});

describe('A fair component', () => {
  /** Each transition as [from, to, agent]. */
  const componentsOf = (size: number, ...transitions: readonly (readonly [number, number, number])[]) => {
    const ordered = Array.from({ length: size }, (_, state) => transitions.filter(([from]) => from === state));
    const firsts = [0];
    for (const own of ordered) firsts.push((firsts.at(-1) ?? 0) + own.length);
    const all = ordered.flat();
    const found = fairComponents({
      firsts: Int32Array.from(firsts),
      targets: Int32Array.from(all.map(([, to]) => to)),
      agents: Uint8Array.from(all.map(([, , agent]) => agent)),
    });
    return found.map((states) => states.toSorted((a, b) => a - b)).toSorted(([a = 0], [b = 0]) => a - b);
  };

  it('is the state in which a run ends', () => {
    expect(componentsOf(3, [0, 1, 0], [1, 2, 0])).to.deep.equal([[2]]);
  });

  it('is a loop that no agent can leave, or in which the agent who could leave it acts too', () => {
    expect(componentsOf(2, [0, 1, 0], [1, 0, 0])).to.deep.equal([[0, 1]]);
    expect(componentsOf(3, [0, 1, 0], [1, 0, 0], [1, 2, 0])).to.deep.equal([[0, 1], [2]]);
  });

  it('is no loop that starves an agent who could leave it again and again', () => {
    expect(componentsOf(3, [0, 1, 0], [1, 0, 0], [1, 2, 1])).to.deep.equal([[2]]);
  });

  it('is the part of a loop in which the agent that the loop starves cannot act', () => {
    expect(componentsOf(3, [0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 2, 1])).to.deep.equal([[0], [2]]);
  });
});
