import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import { deleteHeld, removeHeldFinalizers } from '../phases/phase.ts';
import { SimulatedWorld } from '../world/simulated-world.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE, SECOND } from '../world/cluster.ts';

const NAMES = ['a', 'b', 'c'];
const isCascadeEvent = (event: KubeObject): boolean => event['reason'] === 'DeletedWithCluster';

describe('the profiles of a deleted cluster', () => {
  it('get one DeletedWithCluster event each, even if the watch lags', async () => {
    const world = new SimulatedWorld({ watchLag: 3 * SECOND });
    await world.startWithReady(...NAMES);
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    // A change of the Cluster makes the manager reconcile the Cluster again before the manager's watch shows that the
    // AWSFargateProfiles are being deleted. Even then, the manager must record only one Event DeletedWithCluster for
    // each AWSFargateProfile.
    await world.until('the first event', () => world.objects('events').some(isCascadeEvent));
    world.patch('clusters', 'prod', { metadata: { labels: { changed: 'meanwhile' } } });
    await world.gone(...NAMES);

    const events = world.objects('events').filter(isCascadeEvent);
    expect(
      events.map(({ type, message, count }) => `${String(type)} ${String(message)} ×${String(count)}`),
    ).to.deep.equal(
      NAMES.map(
        () =>
          'Normal The controller deletes this AWSFargateProfile, because AWSManagedControlPlane default/prod-control-plane is being deleted ×1',
      ),
    );
    removeHeldFinalizers(world);
    await world.finish();
  });

  for (const [what, over] of [
    ['of another kind', { kind: 'KubeadmControlPlane' }],
    ['that does not exist', { name: 'elsewhere' }],
  ] as const)
    it(`are deleted with a Cluster that names a control plane ${what}, and the former one loses its finalizer`, async () => {
      const world = new SimulatedWorld();
      await world.startWithReady(...NAMES);
      const finalizers = (): readonly string[] =>
        world.object('awsmanagedcontrolplanes', CONTROL_PLANE_REF.name)?.metadata.finalizers ?? [];
      expect(finalizers()).to.have.length(1);
      world.patch('clusters', CLUSTER, { spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, ...over } } });
      await world.clock.advance(MINUTE);
      expect(world.mutations().some(({ operation }) => operation.startsWith('Delete'))).to.equal(false);
      expect(finalizers(), 'the control plane finalizer, while profiles exist').to.have.length(1);

      deleteHeld(world, 'clusters', CLUSTER);
      await world.gone(...NAMES);
      await world.until('the removal of the control plane finalizer', () => finalizers().length === 0, MINUTE);
      removeHeldFinalizers(world);
      await world.finish();
    });
});
