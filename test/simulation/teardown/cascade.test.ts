import { expect } from 'chai';
import { deleteHeld } from '../phases/phase.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE } from '../world/cluster.ts';
import { it } from '../world/it.ts';

const NAMES = ['a', 'b', 'c'];

describe('the profiles of a deleted cluster', () => {
  for (const [what, over] of [
    ['of another kind', { kind: 'KubeadmControlPlane' }],
    ['that does not exist', { name: 'elsewhere' }],
  ] as const)
    it(`are deleted with a Cluster that names a control plane ${what}, and the former one loses its finalizer`, async (world) => {
      await world.startWithReady(...NAMES);
      expect(world.controlPlaneFinalizers).to.have.length(1);
      world.patch('clusters', CLUSTER, { spec: { controlPlaneRef: { ...CONTROL_PLANE_REF, ...over } } });
      await world.clock.advance(MINUTE);
      expect(world.mutations().some(({ operation }) => operation.startsWith('Delete'))).to.equal(false);
      expect(world.controlPlaneFinalizers, 'the control plane finalizer, while profiles exist').to.have.length(1);

      deleteHeld(world, 'clusters', CLUSTER);
      await world.gone(...NAMES);
      await world.until(
        'the removal of the control plane finalizer',
        () => world.controlPlaneFinalizers.length === 0,
        MINUTE,
      );
    });
});
