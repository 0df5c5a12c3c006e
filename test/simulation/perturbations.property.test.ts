import { expect } from 'chai';
import fc from 'fast-check';
import { PLURAL } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { propertyRuns } from '../../pkg/env/testing/property-runs.ts';
import { diffStates } from '../grid/normalized-state.ts';
import { PROFILE, ROLE, WEB, patchCluster, patchWeb, removeAtOnce } from './phases/phase.ts';
import { SimulatedTeardown } from './teardown/simulated-teardown.ts';
import { EKS_CLUSTER, SECOND } from './world/cluster.ts';
import { type Perturbation, PerturbedWorld } from './world/perturbed-world.ts';

interface History {
  readonly what: string;
  /** In `make test`, only crashes perturb the history. */
  readonly isLong?: true;
  /** Does what users do, and waits until the manager has done its part. */
  readonly play: (world: PerturbedWorld) => Promise<void>;
}

/** How many events old lists are in `make test`. */
const USUAL_AGE = 4;
/** By how much a crash may delay a history: the next manager lists all objects at its start, and continues at once. */
const LONGEST_DELAY: Ms = 5 * SECOND;
const AGES = [1, 2, 4, 8, 16, 32, 64];
const isWhole = process.env['RUNS'] !== undefined;

const policy = (name: string): string => `arn:aws:iam::aws:policy/${name}`;

async function create(world: PerturbedWorld, spec: object = {}): Promise<void> {
  world.start();
  world.applyWith(WEB, spec);
  await world.settled(WEB);
}

/** Creates the object as the first part of a history, which another history perturbs. */
async function createUnperturbed(world: PerturbedWorld, spec: object = {}): Promise<void> {
  await create(world, spec);
  world.begin();
}

const HISTORIES: readonly History[] = [
  {
    what: 'a creation and a deletion',
    play: async (world) => {
      await create(world);
      world.delete(WEB);
      await world.gone(WEB);
      await world.rest();
    },
  },
  {
    what: 'a replacement',
    isLong: true,
    play: async (world) => {
      await createUnperturbed(world, { updateStrategy: { type: 'Replace' } });
      patchWeb(world, { spec: { selectors: [{ namespace: 'other' }], roleName: 'other-role' } });
      await world.settled(WEB);
    },
  },
  {
    what: 'a change of tags and policies',
    play: async (world) => {
      const before = { additionalTags: { old: '1', team: 'a' }, roleAdditionalPolicies: [policy('ReadOnlyAccess')] };
      await createUnperturbed(world, before);
      const roleAdditionalPolicies = [policy('CloudWatchAgentServerPolicy')];
      patchWeb(world, { spec: { additionalTags: { old: null, team: 'b' }, roleAdditionalPolicies } });
      await world.settled(WEB);
    },
  },
  {
    what: 'the deletion of one of two objects with the same role',
    play: async (world) => {
      world.applyWith('other', { roleName: 'shared-pods' });
      await createUnperturbed(world, { roleName: 'shared-pods' });
      world.delete('other');
      await world.gone('other');
      await world.rest();
    },
  },
  {
    what: 'the loss of a role in an EKS cluster with access entries',
    play: async (world) => {
      world.aws.admin.setCluster({ name: EKS_CLUSTER, authenticationMode: 'API_AND_CONFIG_MAP' });
      await createUnperturbed(world);
      world.aws.admin.removeRole({ name: ROLE });
      world.triggerReconcile(WEB);
      const canPodsJoin = (): boolean => world.aws.admin.canPodsJoin({ cluster: EKS_CLUSTER, name: PROFILE });
      await world.until('that pods can join', canPodsJoin);
      await world.settled(WEB);
    },
  },
  {
    what: 'clusterctl move',
    play: async (world) => {
      await createUnperturbed(world);
      patchCluster(world, { spec: { paused: true } });
      await world.until('the pause', () => world.condition(WEB, 'Paused')?.status === 'True');
      const { metadata, spec } = world.profile(WEB) ?? expect.fail('the object is gone');
      const { name, labels, annotations, finalizers, ownerReferences } = metadata;
      removeAtOnce(world, PLURAL, WEB);
      world.create(PLURAL, { metadata: { name, labels, annotations, finalizers, ownerReferences }, spec });
      patchCluster(world, { spec: { paused: false } });
      await world.settled(WEB);
    },
  },
  {
    what: 'the deletion of a Cluster with four objects',
    isLong: true,
    play: async (world) => {
      const teardown = new SimulatedTeardown(world);
      world.start();
      await teardown.untilReady();
      world.begin();
      await teardown.deleteCluster();
      expect(teardown.violations()).to.deep.equal([]);
      await world.rest();
    },
  },
];

const references = new Map<History, Promise<PerturbedWorld>>();

/** The history without a perturbation. */
function referenceFor(history: History): Promise<PerturbedWorld> {
  const reference = references.get(history) ?? playWith(history);
  references.set(history, reference);
  return reference;
}

async function playWith(history: History, ...perturbations: readonly Perturbation[]): Promise<PerturbedWorld> {
  const world = new PerturbedWorld(perturbations);
  await history.play(world);
  await world.end();
  return world;
}

async function expectSameEnd(history: History, ...perturbations: readonly Perturbation[]): Promise<void> {
  const reference = await referenceFor(history);
  try {
    const world = await playWith(history, ...perturbations);
    const difference = diffStates(world.outcome, reference.outcome).join('\n');
    expect(world.outcome, difference).to.deep.equal(reference.outcome);
    if (perturbations.some(({ kind }) => kind !== 'crash')) return;
    expect(world.warnings()).to.deep.equal(reference.warnings());
    expect(world.duration - reference.duration, 'the delay').to.be.below(perturbations.length * LONGEST_DELAY);
  } catch (error) {
    throw new Error(perturbations.map((each) => reference.describe(each)).join(', then '), { cause: error });
  }
}

describe('a manager that crashes, gets outdated lists or misses an event', () => {
  for (const history of HISTORIES)
    it(`ends ${history.what} as ever, and makes nothing in AWS anew`, async () => {
      const reference = await referenceFor(history);
      for (const perturbation of reference.moments(isWhole ? AGES : [USUAL_AGE]))
        if (isWhole || history.isLong !== true || perturbation.kind === 'crash')
          await expectSameEnd(history, perturbation);
    });

  it('does so after two of these', async () => {
    const any = fc.record({ moment: fc.nat(), age: fc.constantFrom(...AGES) });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...HISTORIES), any, any, async (history, ...both) => {
        const reference = await referenceFor(history);
        const chosen = both.flatMap(({ moment, age }) => {
          const moments = reference.moments([age]);
          return moments[moment % moments.length] ?? [];
        });
        await expectSameEnd(history, ...chosen);
      }),
      // A run takes as long as a hundred runs of most other properties.
      { numRuns: Math.ceil(propertyRuns(500) / 100) },
    );
  });
});
