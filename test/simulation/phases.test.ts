import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { REASONS } from '../../controllers/awsfargateprofile/reasons/reasons.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { type DescribedEvent, describeAsKubectl } from '../support/kubectl-describe.ts';
import { expectGolden, normalizeDescription } from '../support/golden.ts';
import { PHASES, PHASE_GROUPS } from './phases/phase-groups.ts';
import { type Phase, WEB, bringIntoPhase, isInPhase, removeHeldFinalizers } from './phases/phase.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const GOLDEN = new URL('golden/', import.meta.url);

describe('kubectl describe shows', () => {
  for (const [group, phases] of Object.entries(PHASE_GROUPS))
    describe(group, () => {
      for (const phase of phases) it(phase.title, () => expectPhase(phase));
    });

  it('each reason of the table in a golden text, and has no other golden texts', () => {
    const names = PHASES.map(({ name }) => `${name}.golden`);
    expect(readdirSync(GOLDEN), 'golden texts').to.have.members(names);
    const texts = readdirSync(GOLDEN).map((file) => readFileSync(new URL(file, GOLDEN), 'utf8'));
    const isShown = (reason: string): boolean =>
      texts.some((text) => new RegExp(`(?:Reason: +|  Warning  )${reason}\\b`).test(text));
    expect(Object.keys(REASONS).filter((reason) => !isShown(reason))).to.deep.equal([]);
  });
});

/**
 * Compares the output of `kubectl describe` for an AWSFargateProfile in one situation with a golden file. Then does
 * what the output asks the user to do, and expects that the situation ends.
 */
async function expectPhase(phase: Phase): Promise<void> {
  const { name, options, until, remedy, endsAs } = phase;
  const world = new SimulatedWorld(options);
  await bringIntoPhase(world, phase);
  expect(isInPhase(world, phase), `still ${until.join(' ')}`).to.equal(true);
  expectGolden(new URL(`${name}.golden`, GOLDEN), normalizeDescription(describeWeb(world)));

  const isLeaving = world.profile(WEB)?.metadata.deletionTimestamp !== undefined;
  await remedy?.(world);
  const end = endsAs ?? (isLeaving ? 'gone' : 'Ready');
  if (end === 'Ready') await world.ready(WEB);
  if (end === 'gone') await world.gone(WEB);
  removeHeldFinalizers(world);
  const left = world.objects(PLURAL).map(({ metadata }) => metadata.name);
  await world.deleteAndFinish(...left);
}

function describeWeb(world: SimulatedWorld): string {
  const object = world.profile(WEB);
  if (object === undefined) throw new Error('it is gone');
  return describeAsKubectl(object, world.objects('events').filter(isEvent));
}

const isEvent = (object: KubeObject): object is KubeObject & DescribedEvent => object.kind === 'Event';
