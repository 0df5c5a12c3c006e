import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { REASONS } from '../../controllers/awsfargateprofile/reasons/reasons.ts';
import { expectGolden } from '../support/golden.ts';
import { type DescribedEvent, differencesFrom, linesOf } from './phases/described.ts';
import { PHASES, PHASE_GROUPS } from './phases/phase-groups.ts';
import { type Phase, WEB, bringIntoPhase, isInPhase, removeHeldFinalizers } from './phases/phase.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const GOLDEN = new URL('golden/', import.meta.url);

/**
 * The usual objects, whose golden files contain all lines: nothing was created yet, EKS is creating the profile, and
 * the object is Ready. The golden file of any other object contains only the differences from the most similar usual
 * object. So if a line changes that all objects have, only three golden files change.
 */
const USUAL = ['waiting-for-cluster', 'creating', 'ready'];

describe('an AWSFargateProfile shows', () => {
  for (const [group, phases] of Object.entries(PHASE_GROUPS))
    describe(group, () => {
      for (const phase of phases) it(phase.title, () => expectPhase(phase));
    });

  it('each reason of the table in a golden text, and has no other golden texts', () => {
    const names = PHASES.map(({ name }) => `${name}.golden`);
    expect(readdirSync(GOLDEN), 'golden texts').to.have.members(names);
    const texts = readdirSync(GOLDEN).map((file) => readFileSync(new URL(file, GOLDEN), 'utf8'));
    const isShown = (reason: string): boolean =>
      texts.some((text) => new RegExp(`(?:: (?:True|False|Unknown)|^Warning) ${reason}\\b`, 'm').test(text));
    expect(Object.keys(REASONS).filter((reason) => !isShown(reason))).to.deep.equal([]);
  });
});

/**
 * Compares an AWSFargateProfile in one situation with a golden file. Then does what its messages ask the user to do,
 * and expects that the situation ends.
 */
async function expectPhase(phase: Phase): Promise<void> {
  const { name, options, until, remedy, endsAs } = phase;
  const world = new SimulatedWorld(options);
  await bringIntoPhase(world, phase);
  expect(isInPhase(world, phase), `still ${until.join(' ')}`).to.equal(true);
  expectGolden(new URL(`${name}.golden`, GOLDEN), describeWeb(world, name));

  const isLeaving = world.profile(WEB)?.metadata.deletionTimestamp !== undefined;
  await remedy?.(world);
  const end = endsAs ?? (isLeaving ? 'gone' : 'Ready');
  if (end === 'Ready') await world.ready(WEB);
  if (end === 'gone') await world.gone(WEB);
  removeHeldFinalizers(world);
  const left = world.objects(PLURAL).map(({ metadata }) => metadata.name);
  await world.deleteAndFinish(...left);
}

function describeWeb(world: SimulatedWorld, name: string): string {
  const object = world.profile(WEB);
  if (object === undefined) throw new Error('it is gone');
  const lines = linesOf(object, world.objects('events').filter(isEvent));
  if (USUAL.includes(name)) return `${lines.join('\n')}\n`;
  const [shortest = []] = USUAL.map((usual) => {
    const linesOfUsual = readFileSync(new URL(`${usual}.golden`, GOLDEN), 'utf8')
      .trimEnd()
      .split('\n');
    return [`like ${usual}, but:`, ...differencesFrom(linesOfUsual, lines)];
  }).toSorted((a, b) => a.length - b.length);
  return `${shortest.join('\n')}\n`;
}

const isEvent = (object: KubeObject): object is DescribedEvent => object.kind === 'Event';
