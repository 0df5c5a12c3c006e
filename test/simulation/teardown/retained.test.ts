import { expect } from 'chai';
import { WEB, deleteHeld, patchWeb, startUntilReady } from '../phases/phase.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE, NAMESPACE } from '../world/cluster.ts';
import { it } from '../world/it.ts';

/** How long the simulated API server hides a change of a Cluster or control plane from the manager's watches. */
const LAG = 5 * MINUTE;

describe('a deleted object with deletionPolicy Retain', () => {
  for (const [what, plural, name] of [
    ['Cluster', 'clusters', CLUSTER],
    ['control plane', 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name],
  ] as const) {
    it(`is kept with the reason although the caches do not show the deletion of its ${what} yet`, async (world) => {
      await startUntilReady(world, { deletionPolicy: 'Retain' });
      world.changeUnseen(LAG, () => deleteHeld(world, plural, name));
      world.delete(WEB);
      const isBlocked = (): boolean => world.eventReasons.includes('RetainBlocksClusterDeletion');
      await world.until('the event with the reason', isBlocked, LAG / 2);
      expect(world.condition(WEB, 'Deleting')?.reason).to.equal('RetainBlocksClusterDeletion');
      expect(world.eventReasons).not.to.include('RetainedEKSFargateProfile');
      expect(world.aws.admin.profiles().map(({ status }) => status)).to.deep.equal(['ACTIVE']);
      patchWeb(world, { spec: { deletionPolicy: 'Delete' } });
      await world.gone(WEB);
      await world.clock.advance(LAG);
    });
  }

  it('is kept with the reason when the deletion of its namespace deletes it before its Cluster', async (world) => {
    await startUntilReady(world, { deletionPolicy: 'Retain' });
    // The namespace controller removes its finalizer from a namespace when the namespace has no objects any more.
    world.create('namespaces', { metadata: { name: NAMESPACE, finalizers: ['kubernetes'] } });
    world.remove('namespaces', NAMESPACE);
    world.delete(WEB);
    const isBlocked = (): boolean => world.condition(WEB, 'Stalled')?.reason === 'RetainBlocksClusterDeletion';
    await world.until('the condition with the reason', isBlocked);
    expect(world.eventReasons).not.to.include('RetainedEKSFargateProfile');
    expect(world.aws.admin.profiles().map(({ status }) => status)).to.deep.equal(['ACTIVE']);
    await world.clock.advance(10 * MINUTE);
    deleteHeld(world, 'clusters', CLUSTER);
    patchWeb(world, { spec: { deletionPolicy: 'Delete' } });
    await world.gone(WEB);
  });
});
