import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { REASONS } from '../../controllers/awsfargateprofile/reasons.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import type { DescribedEvent } from '../support/describe.ts';
import { describeAsKubectl } from '../support/describe.ts';
import { expectGolden, steady } from '../support/golden.ts';
import { AWS } from './phases/aws.ts';
import { BEFORE_AWS } from './phases/before-aws.ts';
import { CREDENTIALS } from './phases/credentials.ts';
import { DELETION } from './phases/deletion.ts';
import type { Phase } from './phases/phase.ts';
import { AT_ONCE, HOUR, WEB, letGo } from './phases/phase.ts';
import { PROFILES } from './phases/profile.ts';
import { ROLES } from './phases/role.ts';
import { KernelWorld } from './world.ts';

const GOLDEN = new URL('golden/', import.meta.url);

const GROUPS: Readonly<Record<string, readonly Phase[]>> = {
  'before AWS is asked': BEFORE_AWS,
  'without usable credentials': CREDENTIALS,
  'when AWS objects': AWS,
  'the role': ROLES,
  'the profile': PROFILES,
  'the end': DELETION,
};

describe('what kubectl describe tells of', () => {
  for (const [group, phases] of Object.entries(GROUPS))
    describe(group, () => {
      for (const phase of phases) it(phase.says, () => tell(phase));
    });

  it('nothing else, and leaves no reason of the table untold', () => {
    const names = Object.values(GROUPS).flatMap((phases) => phases.map(({ name }) => `${name}.golden`));
    expect(readdirSync(GOLDEN), 'golden texts').to.have.members(names);
    const texts = [GOLDEN, new URL('../integration/golden/', import.meta.url)].flatMap((folder) =>
      readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8')),
    );
    const isTold = (reason: string): boolean =>
      texts.some((text) => new RegExp(`(?:Reason: +|  Warning  )${reason}\\b`).test(text));
    expect(Object.keys(REASONS).filter((reason) => !isTold(reason))).to.deep.equal([]);
  });
});

/** Reads the text, does what it says, and sees that this was right. */
async function tell({ name, options, arrange, until, readAfter = HOUR, cure, comesTo }: Phase): Promise<void> {
  const world = new KernelWorld(options);
  await arrange(world);
  const [type, status, reason] = until;
  const isThere = (): boolean => {
    const found = world.condition(WEB, type);
    return found?.status === status && (reason === undefined || found.reason === reason);
  };
  await world.until(until.join(' '), isThere, HOUR);
  await world.clock.advance(Math.max(readAfter, AT_ONCE));
  expect(isThere(), `it is ${until.join(' ')} still`).to.equal(true);
  expectGolden(new URL(`${name}.golden`, GOLDEN), steady(describeWeb(world)));

  const isLeaving = world.profile(WEB)?.metadata.deletionTimestamp !== undefined;
  await cure?.(world);
  const end = comesTo ?? (isLeaving ? 'gone' : 'Ready');
  if (end === 'Ready') await world.ready(WEB);
  if (end === 'gone') await world.gone(WEB);
  letGo(world);
  const left = world.objects(PLURAL).map(({ metadata }) => metadata.name);
  world.delete(...left);
  await world.gone(...left);
  await world.finish();
}

function describeWeb(world: KernelWorld): string {
  const object = world.profile(WEB);
  if (object === undefined) throw new Error('it is gone');
  return describeAsKubectl(object, world.objects('events').filter(isEvent));
}

const isEvent = (object: KubeObject): object is KubeObject & DescribedEvent => object.kind === 'Event';
