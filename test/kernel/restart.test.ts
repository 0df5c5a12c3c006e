import { expect } from 'chai';
import { json } from '../../pkg/kube/testing/fake-api-server.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import { lose } from './phases/phase.ts';
import { CLUSTER, KernelWorld, MINUTE, SECOND } from './world.ts';

const NAMES = ['a', 'b'];
const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);

/** How wrong the clock of a machine may be. */
const LARGEST_SKEW: Ms = 60 * MINUTE;
/** EKS in a hurry, so that restarts meet its work more often. */
const QUICK: ConfigPatch = { eks: { createMs: [10 * SECOND, 30 * SECOND], deleteMs: [5 * SECOND, 20 * SECOND] } };
/** IAM as it is on a slow day. */
const LAGGING: ConfigPatch = {
  ...QUICK,
  iam: { readAfterCreateMs: 2 * SECOND, readAfterDeleteMs: 2 * SECOND, trustVisibleToEksMs: 8 * SECOND },
};

/** How often each thing was made, and how often it was taken away. */
function expectEachOnce(world: KernelWorld, names: readonly string[]): void {
  const done = world.mutations().filter(({ applied }) => applied);
  for (const operation of ['CreateRole', 'CreateFargateProfile', 'DeleteFargateProfile', 'DeleteRole'])
    expect(
      done.filter((call) => call.operation === operation),
      operation,
    ).to.have.length(names.length);
}

/** A manager that is killed as soon as it has asked for the profile of `a`. */
async function killedOnceAsked(world: KernelWorld, skew: Ms): Promise<void> {
  const isAskedFor = (): boolean => world.mutations().some(({ operation }) => operation === 'CreateFargateProfile');
  const manager = world.startSkewed(skew);
  world.apply('a');
  await world.until('the profile is asked for', isAskedFor);
  manager.kill();
}

/** Ends the manager that runs, in good order or not, and begins another. */
async function restart(world: KernelWorld, how: 'stop' | 'kill', skew = 0): Promise<void> {
  const manager = world.managers.at(-1);
  if (manager !== undefined && how === 'stop') await world.stop(manager);
  if (manager !== undefined && how === 'kill') manager.kill();
  world.startSkewed(skew);
}

describe('a manager that is ended', () => {
  for (const seed of SEEDS) {
    it(`makes nothing twice and forgets nothing, restarted at any moment (seed ${seed})`, async () => {
      const world = new KernelWorld({ seed, aws: seed % 2 === 0 ? LAGGING : QUICK });
      const aWhile = (longest: number): Promise<void> => world.clock.advance(world.random.next() * longest);
      const restarts = async (): Promise<void> => {
        for (let count = 0; count < 3; count++) {
          // Half of them while the first calls are made, half while EKS works.
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

  it('makes nothing twice and forgets nothing, killed after any one of its effects', async () => {
    const life = async (killedAfter: number): Promise<number> => {
      const world = new KernelWorld({ aws: QUICK });
      let effects = 0;
      world.onEffect = () => {
        effects += 1;
        if (effects === killedAfter) void restart(world, 'kill');
      };
      world.start();
      world.apply('a');
      await world.ready('a');
      world.delete('a');
      await world.gone('a');
      expectEachOnce(world, ['a']);
      await world.finish();
      return effects;
    };
    const effects = await life(Infinity);
    expect(effects, 'six changes in AWS, the rest in the API server').to.be.above(12);
    for (let count = 1; count <= effects; count++)
      await life(count).catch((error: unknown) => {
        throw new Error(`killed after effect ${count} of ${effects}`, { cause: error });
      });
  });

  for (const skew of [0, LARGEST_SKEW, -LARGEST_SKEW])
    it(`waits for a profile that was asked for and is not seen yet, but not for ever (clock ahead by ${skew} ms)`, async () => {
      const world = new KernelWorld({
        aws: { ...QUICK, eks: { ...QUICK.eks, describeAfterCreateMs: 20 * SECOND, listAfterCreateMs: 20 * SECOND } },
      });
      await killedOnceAsked(world, skew);
      world.delete('a');
      world.start();
      await world.gone('a');
      expect(world.mutations().filter(({ operation }) => operation === 'DeleteFargateProfile')).to.have.length(1);
      expect(world.elapsed).to.be.below(2 * MINUTE);
      await world.finish();
    });

  it('holds an object whose create never arrived for a minute and no longer', async () => {
    const world = new KernelWorld({ aws: QUICK });
    world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'no-answer-before' });
    await killedOnceAsked(world, LARGEST_SKEW);
    world.delete('a');
    world.start();
    await world.gone('a');
    expect(world.elapsed).to.be.below(2 * MINUTE);
    await world.finish();
  });
});

describe('an object for which nothing was begun in AWS', () => {
  it('goes without its Cluster, of which nothing is needed', async () => {
    const world = new KernelWorld();
    // Held up before anything is begun.
    world.api.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('/awsmanagedcontrolplanes')
        ? json(500, { kind: 'Status', status: 'Failure', reason: 'InternalError', code: 500, message: 'not now' })
        : undefined;
    world.start();
    world.apply('a');
    await world.until('it is held', () => (world.profile('a')?.metadata.finalizers ?? []).length > 0);
    lose(world, 'awsmanagedcontrolplanes', `${CLUSTER}-control-plane`);
    lose(world, 'clusters', CLUSTER);
    world.delete('a');
    await world.gone('a');
    expect(world.mutations()).to.deep.equal([]);
    expect(world.warnings()).to.deep.equal([]);
    await world.finish();
  });
});
