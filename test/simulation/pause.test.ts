import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { CLUSTER, SECOND } from './world/cluster.ts';

const PAUSED = 'cluster.x-k8s.io/paused';
/**
 * A time that is shorter than every poll interval and every backoff of the manager. So only a watch event can cause a
 * change within this time.
 */
const AT_ONCE = SECOND / 2;

const WAYS = [
  {
    by: 'its Cluster',
    pause: (world: SimulatedWorld, on: boolean) => world.patch('clusters', CLUSTER, { spec: { paused: on } }),
  },
  {
    by: 'its annotation',
    pause: (world: SimulatedWorld, on: boolean) =>
      world.patch(PLURAL, 'a', { metadata: { annotations: { [PAUSED]: on ? '' : null } } }),
  },
];

describe('an object paused', () => {
  for (const { by, pause } of WAYS) {
    async function paused(): Promise<SimulatedWorld> {
      const world = new SimulatedWorld();
      await world.startWithReady('a');
      pause(world, true);
      await world.until('the pause', () => world.condition('a', 'Paused')?.status === 'True');
      return world;
    }

    it(`by ${by} applies its changes at once when it is resumed after an hour`, async () => {
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
      await world.deleteAndFinish('a');
    });

    it(`by ${by} while no manager runs sets Paused at the start, without AWS calls`, async () => {
      const world = new SimulatedWorld();
      const first = await world.startWithReady('a');
      await world.stop(first);
      pause(world, true);
      const calls = world.aws.admin.calls().length;
      world.start();
      await world.until('Paused is True', () => world.condition('a', 'Paused')?.status === 'True', 5 * SECOND);
      expect(world.aws.admin.calls().length).to.equal(calls);
      pause(world, false);
      await world.deleteAndFinish('a');
    });

    it(`by ${by} is deleted at once when it is resumed after an hour`, async () => {
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
