import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import type { WorkloadCluster } from '../../world/workload/workload-cluster.ts';
import { useWorld } from '../../world/world.ts';
import { DrainScene, replacing } from '../../world/workload/drain-scene.ts';

const [FIRST, SECOND] = ['default_web', '9999-default_web'] as const;

describe('a drain', () => {
  const world = useWorld();
  let scene: DrainScene;
  let workload: WorkloadCluster;

  before(async () => {
    scene = await DrainScene.start(world, ['system:masters']);
    ({ workload } = scene);
    await scene.apply({ selectors: [{ namespace: 'default' }] });
    await world.ready('web');
    await workload.deploy('web', 3);
    await workload.protect('web', 2);
    await scene.readyOn(FIRST, 3);
  });

  it('goes on after a crash of the manager at each eviction, with the same end', async () => {
    workload.watchReady();
    const first = await workload.readyOn(FIRST);
    const ends = new Set<string | undefined>();
    await scene.apply(replacing('5m', 'second'));
    for (let evicted = 0; evicted < first.length;) {
      const staying = await eventually(
        async () => {
          const pods = await workload.pods();
          const names = pods
            .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
            .map(({ metadata }) => metadata.name)
            .filter((name) => first.includes(name));
          return names.length < first.length - evicted && names;
        },
        { what: 'the next eviction', intervalMs: 50 },
      );
      evicted = first.length - staying.length;
      const message = await scene.shows('deletes "default_web" at');
      ends.add(/ at \S+ at the latest/.exec(message)?.[0]);
      await scene.crash();
    }
    await scene.gone(FIRST);
    await scene.readyOn(SECOND, 3);
    expect(workload.fewestReady).to.equal(2);
    expect([...ends]).to.have.length(1);
  });
});
