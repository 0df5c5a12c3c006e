import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CLUSTER } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';

const FILTER = 'cluster.x-k8s.io/watch-filter';

/** Starts a manager with leader election for the objects with this label value. */
const startShard = (world: SimulatedWorld, filter: string) => world.start('--leader-elect', '--watch-filter', filter);

/** Creates an AWSFargateProfile of a shard. Its name is the name of the shard, a hyphen and any text. */
function create(world: SimulatedWorld, name: string, spec: object = {}): void {
  const labels = { [FILTER]: name.split('-')[0] };
  world.create(PLURAL, {
    metadata: { name, labels },
    spec: { clusterName: CLUSTER, selectors: [{ namespace: name }], ...spec },
  });
}

describe('two managers with different watch filters in one namespace', () => {
  it('have a Lease each, and both lead', async () => {
    const world = new SimulatedWorld();
    for (const filter of ['blue', 'green']) startShard(world, filter);
    create(world, 'blue-web');
    create(world, 'green-web');
    await world.ready('blue-web', 'green-web');
    expect(world.objects('leases').map(({ metadata }) => metadata.name)).to.have.members([
      'capaf-leader-election.filter-blue',
      'capaf-leader-election.filter-green',
    ]);
    await world.deleteAndFinish('blue-web', 'green-web');
  });
});
