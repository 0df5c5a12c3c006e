import { expect } from 'chai';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { deleteHeld, letGo } from './phases/phase.ts';
import { CLUSTER, CONTROL_PLANE_REF, KernelWorld, MINUTE, SECOND } from './world.ts';

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

  for (const [what, over] of [
    ['of another kind', { kind: 'KubeadmControlPlane' }],
    ['that is not there', { name: 'elsewhere' }],
  ] as const)
    it(`go with their Cluster where it names a control plane ${what} by now, and the former one is let go`, async () => {
      const world = new KernelWorld();
      world.start();
      world.apply(...NAMES);
      await world.ready(...NAMES);
      const finalizers = (): readonly string[] =>
        world.object('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name)?.metadata.finalizers ?? [];
      expect(finalizers()).to.have.length(1);
      world.patch('clusters', CLUSTER, { spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, ...over } } });
      await world.clock.advance(MINUTE);
      expect(world.mutations().some(({ operation }) => operation.startsWith('Delete'))).to.equal(false);
      expect(finalizers(), 'the guard, while there are profiles').to.have.length(1);

      deleteHeld(world, 'clusters', CLUSTER);
      await world.gone(...NAMES);
      await world.until('the end of the guard', () => finalizers().length === 0, MINUTE);
      letGo(world);
      await world.finish();
    });
});
