import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CLUSTER, KernelWorld, SECOND } from './world.ts';

const PAUSED = 'cluster.x-k8s.io/paused';
/** No poll and no backoff lies between. */
const AT_ONCE = SECOND / 2;

const WAYS = [
  {
    by: 'its Cluster',
    pause: (world: KernelWorld, on: boolean) => world.patch('clusters', CLUSTER, { spec: { paused: on } }),
  },
  {
    by: 'its annotation',
    pause: (world: KernelWorld, on: boolean) =>
      world.patch(PLURAL, 'a', { metadata: { annotations: { [PAUSED]: on ? '' : null } } }),
  },
];

describe('an object that is paused', () => {
  for (const { by, pause } of WAYS) {
    async function paused(): Promise<KernelWorld> {
      const world = new KernelWorld();
      world.start();
      world.apply('a');
      await world.ready('a');
      pause(world, true);
      await world.until('the pause', () => world.condition('a', 'Paused')?.status === 'True');
      return world;
    }

    it(`by ${by} is changed at once when it is resumed, however long that took`, async () => {
      const world = await paused();
      world.patch(PLURAL, 'a', { spec: { additionalTags: { stage: 'late' } } });
      await world.clock.advance(3_600 * SECOND);
      const isChanged = (): boolean => world.aws.admin.profiles()[0]?.tags['stage'] === 'late';
      expect(isChanged()).to.equal(false);
      const resumed = world.elapsed;
      pause(world, false);
      await world.until('the change', isChanged);
      expect(world.elapsed - resumed).to.be.below(AT_ONCE);
      await world.until('the end of the pause', () => world.condition('a', 'Paused')?.status === 'False');
      expect(world.elapsed - resumed).to.be.below(AT_ONCE);
      world.delete('a');
      await world.gone('a');
      await world.finish();
    });

    it(`by ${by} says so also where that came while no manager ran, and asks AWS nothing`, async () => {
      const world = new KernelWorld();
      const first = world.start();
      world.apply('a');
      await world.ready('a');
      await world.stop(first);
      pause(world, true);
      const calls = world.aws.admin.calls().length;
      world.start();
      await world.until('it says so', () => world.condition('a', 'Paused')?.status === 'True', 5 * SECOND);
      expect(world.aws.admin.calls().length).to.equal(calls);
      pause(world, false);
      world.delete('a');
      await world.gone('a');
      await world.finish();
    });

    it(`by ${by} is deleted at once when it is resumed, however long that took`, async () => {
      const world = await paused();
      world.delete('a');
      await world.clock.advance(3_600 * SECOND);
      expect(world.aws.admin.profiles()[0]?.status).to.equal('ACTIVE');
      const resumed = world.elapsed;
      pause(world, false);
      await world.until('the deletion', () => world.aws.admin.profiles()[0]?.status !== 'ACTIVE');
      expect(world.elapsed - resumed).to.be.below(AT_ONCE);
      await world.gone('a');
      await world.finish();
    });
  }
});
