import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Ms } from 'controller-runtime/env';
import { propertyRuns } from 'controller-runtime/testing';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CAPA_TRUST } from '../world/aws/capa-resources.ts';
import {
  PROFILE,
  ROLE,
  WEB,
  changeRoleByHand,
  patchCluster,
  patchWeb,
  putForeignProfile,
  removeAtOnce,
} from './phases/phase.ts';
import { SimulatedTeardown } from './teardown/simulated-teardown.ts';
import { ACCOUNT, EKS_CLUSTER, MINUTE, SECOND } from './world/cluster.ts';
import { type Perturbation, PerturbedWorld } from './world/perturbed-world.ts';

interface History {
  readonly what: string;
  /** The kinds of the perturbations in `make test`; undefined: none. `make test-grid` uses all kinds. */
  readonly usual?: readonly Perturbation['kind'][];
  /**
   * After a crash, nothing in the API server shows that AWS differs, so the next manager may notice it only at its next
   * resync.
   */
  readonly mayWaitForResync?: true;
  /** Does what users do, and waits until the manager has done its part. */
  readonly play: (world: PerturbedWorld) => Promise<void>;
}

/** How many events old the outdated lists are in `make test`. */
const USUAL_AGE = 4;
/**
 * The maximum time by which a crash may delay a history. The next manager lists all objects at its start and continues
 * immediately. But it can notice the end of a change in EKS one poll later, that is, by up to 5 s, and its first
 * reconcile reads from AWS once more.
 */
const LONGEST_DELAY: Ms = 6 * SECOND;
const AGES = [1, 2, 4, 8, 16, 32, 64];
const isWhole = process.env['RUNS'] !== undefined;

const policy = (name: string): string => `arn:aws:iam::aws:policy/${name}`;

const BOUNDARY = policy('PowerUserAccess');
const TOOLS = { name: 'tools', region: 'us-east-1' };
const ALLOWED = `--allow-eks-cluster=default=${ACCOUNT}/${TOOLS.region}/${TOOLS.name}`;

async function create(world: PerturbedWorld, spec: object = {}, ...flags: readonly string[]): Promise<void> {
  world.start(...flags);
  world.applyWith(WEB, spec);
  await world.settled(WEB);
}

/** Creates the object without perturbations, because another history perturbs the creation. */
async function createUnperturbed(world: PerturbedWorld, spec: object = {}): Promise<void> {
  await create(world, spec);
  world.begin();
}

async function deleteUntilRest(world: PerturbedWorld): Promise<void> {
  world.delete(WEB);
  await world.gone(WEB);
  await world.rest();
}

const HISTORIES: readonly History[] = [
  {
    what: 'a creation and a deletion',
    usual: ['crash', 'unseen', 'lag', 'fault'],
    play: async (world) => {
      await create(world);
      await deleteUntilRest(world);
    },
  },
  {
    what: 'a replacement',
    usual: ['crash'],
    play: async (world) => {
      await createUnperturbed(world, { updateStrategy: { type: 'Replace' } });
      const gaps: string[] = [];
      const forget = world.aws.onCall(({ operation }) => {
        if (world.aws.admin.profiles().every(({ status }) => status !== 'ACTIVE')) gaps.push(operation);
      });
      patchWeb(world, { spec: { selectors: [{ namespace: 'other' }], roleName: 'other-role' } });
      await world.settled(WEB);
      forget();
      expect(gaps, 'calls while no profile was ACTIVE').to.deep.equal([]);
    },
  },
  {
    what: 'a change of tags and policies',
    usual: ['crash'],
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
    usual: ['crash'],
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
    usual: ['crash'],
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
    what: 'the correction of what others have changed in AWS',
    mayWaitForResync: true,
    play: async (world) => {
      const spec = { additionalTags: { team: 'a' }, rolePermissionsBoundary: BOUNDARY };
      await createUnperturbed(world, spec);
      const inAws = () => [world.eksProfile(WEB), world.role(WEB)] as const;
      const before = inAws();
      const [profile, role] = before;
      world.aws.admin.setProfile({ cluster: EKS_CLUSTER, name: PROFILE, tags: { ...profile?.tags, team: 'b' } });
      changeRoleByHand(world, ROLE, {
        attachedPolicies: [],
        trustPolicy: CAPA_TRUST,
        permissionsBoundary: policy('ReadOnlyAccess'),
        tags: { ...role?.tags, team: 'b' },
      });
      world.triggerReconcile(WEB);
      await world.until('the correction', () => isDeepStrictEqual(inAws(), before), 30 * MINUTE);
      await world.settled(WEB);
    },
  },
  {
    what: 'the recovery of a lost profile',
    play: async (world) => {
      await createUnperturbed(world);
      world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: PROFILE });
      world.triggerReconcile(WEB);
      await world.until('the new profile', () => world.eksProfile(WEB)?.status === 'ACTIVE');
      await world.settled(WEB);
    },
  },
  {
    what: 'the recovery from CREATE_FAILED by a change of the spec',
    play: async (world) => {
      world.aws.admin.planFailure({ operation: 'create', times: 1, issues: [] });
      world.start();
      world.applyWith(WEB, { rolePermissionsBoundary: BOUNDARY });
      await world.reason(WEB, 'CreateFailed');
      world.begin();
      patchWeb(world, { spec: { selectors: [{ namespace: 'mended' }], rolePermissionsBoundary: null } });
      await world.settled(WEB);
    },
  },
  {
    what: 'a deletion with a named role beside the profile of another owner',
    play: async (world) => {
      putForeignProfile(world, 'theirs');
      await createUnperturbed(world, { roleName: 'named-pods' });
      await deleteUntilRest(world);
    },
  },
  {
    what: 'a creation in an EKS cluster without a Cluster, while EKS creates another profile there',
    play: async (world) => {
      world.aws.admin.createCluster({ name: TOOLS.name });
      const next = { afterMs: 3 * SECOND, to: 'ACTIVE' } as const;
      putForeignProfile(world, 'busy', { cluster: TOOLS.name, status: 'CREATING', next });
      await create(world, { clusterName: undefined, eksCluster: TOOLS }, ALLOWED);
      await deleteUntilRest(world);
    },
  },
  {
    what: 'clusterctl move',
    usual: ['crash'],
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
    usual: ['crash'],
    play: async (world) => {
      const teardown = new SimulatedTeardown(world);
      world.start();
      await teardown.untilReady();
      world.begin();
      await teardown.deleteCluster();
      // An outdated list can show a create request that has no answer yet. The manager then waits with the reason
      // Propagating.
      const isExpected = (violation: string): boolean =>
        world.sawOldLists && violation.includes('waits for Propagating');
      expect(teardown.violations().filter((violation) => !isExpected(violation))).to.deep.equal([]);
      await world.rest();
    },
  },
];

const references = new Map<History, Promise<PerturbedWorld>>();

/** Returns the history without perturbations. It is played only once. */
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
    expect(world.statuses.violations).to.deep.equal([]);
    // No perturbation needs a user, so none may cause a further reason of the condition Stalled.
    expect(reference.statuses.stalledReasons).to.include.members(world.statuses.stalledReasons);
    if (perturbations.some(({ kind }) => kind !== 'crash')) return;
    expect(world.warnings()).to.deep.equal(reference.warnings());
    if (history.mayWaitForResync === true) return;
    expect(world.duration - reference.duration, 'the delay').to.be.below(perturbations.length * LONGEST_DELAY);
  } catch (error) {
    throw new Error(perturbations.map((each) => reference.describe(each)).join(', then '), { cause: error });
  }
}

describe('a manager that crashes, gets outdated lists, misses an event or whose AWS call fails', () => {
  for (const history of HISTORIES.filter(({ usual }) => isWhole || usual !== undefined))
    it(`ends ${history.what} as ever, and recreates nothing in AWS`, async () => {
      const reference = await referenceFor(history);
      for (const perturbation of reference.moments(isWhole ? AGES : [USUAL_AGE]))
        if (isWhole || history.usual?.includes(perturbation.kind)) await expectSameEnd(history, perturbation);
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

/** The lines that only one of two values has, as in a diff: `-` for a line of the wanted one, `+` for the found one. */
function diffStates(found: unknown, wanted: unknown): readonly string[] {
  const [are = [], should = []] = [found, wanted].map((each) => JSON.stringify(each, undefined, 1).split('\n'));
  const missing = should.filter((line) => !are.includes(line));
  const surplus = are.filter((line) => !should.includes(line));
  return [...missing.map((line) => `- ${line.trim()}`), ...surplus.map((line) => `+ ${line.trim()}`)];
}
