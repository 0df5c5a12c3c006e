import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import { PLURAL } from '../../api/v1beta2/index.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import { deleteHeld, refuseRequests, removeAtOnce, removeHeldFinalizers } from './phases/phase.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE, SECOND } from './world/cluster.ts';

const NAMES = ['a', 'b'];
const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

/** The largest difference between a manager's wall clock and the right time in these tests. */
const LARGEST_SKEW: Ms = 60 * MINUTE;
/**
 * Short durations of creations and deletions in EKS, so that a random restart of the manager often happens during a
 * creation or deletion.
 */
const QUICK: ConfigPatch = { eks: { createMs: [10 * SECOND, 30 * SECOND], deleteMs: [5 * SECOND, 20 * SECOND] } };
/** Short durations of creations and deletions in EKS, and an IAM whose changes become visible only after 2 to 8 s. */
const LAGGING: ConfigPatch = {
  ...QUICK,
  iam: { readAfterCreateMs: 2 * SECOND, readAfterDeleteMs: 2 * SECOND, trustVisibleToEksMs: 8 * SECOND },
};

/** Expects that each IAM role and each Fargate profile was created once and deleted once. */
function expectEachOnce(world: SimulatedWorld, names: readonly string[]): void {
  const done = world.mutations().filter(({ applied }) => applied);
  for (const operation of ['CreateRole', 'CreateFargateProfile', 'DeleteFargateProfile', 'DeleteRole'])
    expect(
      done.filter((call) => call.operation === operation),
      operation,
    ).to.have.length(names.length);
}

/**
 * Starts a manager, creates the AWSFargateProfile `a`, and kills the manager right after it has sent
 * CreateFargateProfile. The wall clock of the manager is wrong by `skew`.
 */
async function killAfterCreate(world: SimulatedWorld, skew: Ms): Promise<void> {
  const isRequested = (): boolean => world.mutations().some(({ operation }) => operation === 'CreateFargateProfile');
  const manager = world.startSkewed(skew);
  world.apply('a');
  await world.until('the create call', isRequested);
  manager.kill();
}

async function restart(world: SimulatedWorld, how: 'stop' | 'kill', skew = 0): Promise<void> {
  const manager = world.managers.at(-1);
  if (manager !== undefined && how === 'stop') await world.stop(manager);
  if (manager !== undefined && how === 'kill') manager.kill();
  world.startSkewed(skew);
}

describe('a restarted manager', () => {
  for (const seed of SEEDS) {
    it(`creates nothing twice and forgets nothing, after restarts at random moments (seed ${seed})`, async () => {
      const world = new SimulatedWorld({ seed, aws: seed % 2 === 0 ? LAGGING : QUICK });
      const aWhile = (longest: number): Promise<void> => world.clock.advance(world.random.next() * longest);
      const restarts = async (): Promise<void> => {
        for (let count = 0; count < 3; count++) {
          // Half of the restarts happen at most 2 s after the previous step of the test, during the manager's first AWS
          // calls. The others happen at most 30 s after the previous step, so that some of them happen while EKS
          // creates or deletes Fargate profiles.
          await aWhile(world.random.next() < 0.5 ? 2 * SECOND : 30 * SECOND);
          const skew = seed % 3 === 0 ? (2 * world.random.next() - 1) * LARGEST_SKEW : 0;
          await restart(world, world.random.next() < 0.5 ? 'stop' : 'kill', Math.round(skew));
        }
      };
      world.start();
      world.apply(...NAMES);
      await restarts();
      await world.ready(...NAMES);
      world.delete(...NAMES);
      await restarts();
      await world.gone(...NAMES);
      expectEachOnce(world, NAMES);
      expect(world.warnings()).to.deep.equal([]);
      await world.finish();
    });
  }

  for (const skew of [0, LARGEST_SKEW, -LARGEST_SKEW])
    it(`waits a limited time for a requested profile that EKS does not show yet (clock ahead by ${skew} ms)`, async () => {
      const world = new SimulatedWorld({
        aws: { ...QUICK, eks: { ...QUICK.eks, describeAfterCreateMs: 20 * SECOND, listAfterCreateMs: 20 * SECOND } },
      });
      await killAfterCreate(world, skew);
      world.delete('a');
      world.start();
      await world.gone('a');
      expect(world.mutations().filter(({ operation }) => operation === 'DeleteFargateProfile')).to.have.length(1);
      expect(world.elapsed).to.be.below(2 * MINUTE);
      await world.finish();
    });

  it('keeps an object whose create call was lost for about a minute', async () => {
    const world = new SimulatedWorld({ aws: QUICK });
    world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'no-answer-before' });
    await killAfterCreate(world, LARGEST_SKEW);
    world.delete('a');
    world.start();
    await world.gone('a');
    expect(world.elapsed).to.be.below(2 * MINUTE);
    await world.finish();
  });
});

describe('an object without AWS calls so far', () => {
  it('is deleted after its Cluster and control plane are gone', async () => {
    const world = new SimulatedWorld();
    // In this test the API server refuses every patch of the control plane, so the manager cannot add its finalizer
    // there. Without this finalizer, the manager makes no AWS call for the AWSFargateProfile.
    refuseRequests(world, 'PATCH', /\/awsmanagedcontrolplanes/, 500, 'not now');
    world.start();
    world.apply('a');
    await world.until('the finalizer', () => (world.profile('a')?.metadata.finalizers ?? []).length > 0);
    removeAtOnce(world, 'awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    removeAtOnce(world, 'clusters', CLUSTER);
    world.delete('a');
    await world.gone('a');
    expect(world.mutations()).to.deep.equal([]);
    expect(world.warnings()).to.deep.equal([]);
    await world.finish();
  });
});

describe('an object whose deletion has begun, and that a restore brings back without finalizer and status', () => {
  for (const [situation, isTornDown] of [
    ['in a cluster that stays', false],
    ['in a cluster that is being deleted', true],
  ] as const)
    it(`is deleted with its profile and role ${situation}`, async () => {
      const world = new SimulatedWorld();
      const manager = await world.startWithReady('web');
      world.delete('web');
      await world.until('the deletion in EKS', () =>
        world.mutationsFor('web').some(({ operation }) => operation === 'DeleteFargateProfile'),
      );
      await world.stop(manager);
      const { labels, annotations } = world.profile('web')?.metadata ?? {};
      world.patch(PLURAL, 'web', { metadata: { finalizers: null } });
      if (isTornDown) deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
      const spec = { clusterName: CLUSTER, selectors: [{ namespace: 'web' }] };
      world.create(PLURAL, { metadata: { name: 'web', labels, annotations }, spec });
      world.start();
      await world.gone('web');
      expect(world.aws.admin.profiles()).to.deep.equal([]);
      removeHeldFinalizers(world);
      await world.finish();
    });
});
