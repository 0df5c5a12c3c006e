import { expect } from 'chai';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { deleteHeld, letGo } from './phases/phase.ts';
import { CONTROL_PLANE_REF, KernelWorld, SECOND } from './world.ts';

const NAMES = ['a', 'b', 'c'];
const isTold = (event: KubeObject): boolean => event['reason'] === 'DeletedWithCluster';

describe('the profiles of a cluster that is torn down', () => {
  it('are each told once why they go, however late the watch shows that they do', async () => {
    const world = new KernelWorld({ watchLag: 3 * SECOND });
    world.start();
    world.apply(...NAMES);
    await world.ready(...NAMES);
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    // Something changes before the deletions come into sight: the cluster is looked at again.
    await world.until('the first is told', () => world.objects('events').some(isTold));
    world.patch('clusters', 'prod', { metadata: { labels: { changed: 'meanwhile' } } });
    await world.gone(...NAMES);

    const told = world.objects('events').filter(isTold);
    expect(
      told.map(({ type, message, count }) => `${String(type)} ${String(message)} ×${String(count)}`),
    ).to.deep.equal(
      NAMES.map(
        () =>
          'Normal AWSManagedControlPlane default/prod-control-plane is being deleted: the profile goes before its cluster ×1',
      ),
    );
    letGo(world);
    await world.finish();
  });
});
