import { expect } from 'chai';
import { sleep } from 'controller-runtime/async';
import { CONTROL_PLANE_FINALIZER } from '../../../controllers/shared/control-plane/control-plane-finalizer.ts';
import { WEB, deleteHeld, removeAtOnce, startAndApply } from '../phases/phase.ts';
import { CLUSTER, CONTROL_PLANE_REF, EKS_CLUSTER, MINUTE, SECOND } from '../world/cluster.ts';
import { it } from '../world/it.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';

const CONTROL_PLANES = 'awsmanagedcontrolplanes';

/** Deletes the control plane; with `isStripped`, another controller then removes the finalizer of this controller. */
function tearDown(world: SimulatedWorld, isStripped: boolean): void {
  deleteHeld(world, CONTROL_PLANES, CONTROL_PLANE_REF.name);
  const left = world.controlPlaneFinalizers.filter((each) => each !== CONTROL_PLANE_FINALIZER);
  if (isStripped) world.patch(CONTROL_PLANES, CONTROL_PLANE_REF.name, { metadata: { finalizers: left } });
}

describe('a create that coincides with a teardown', () => {
  for (const [what, act] of [
    ['is being deleted', (world: SimulatedWorld) => deleteHeld(world, CONTROL_PLANES, CONTROL_PLANE_REF.name)],
    ['is gone', (world: SimulatedWorld) => removeAtOnce(world, CONTROL_PLANES, CONTROL_PLANE_REF.name)],
  ] as const)
    it(`is not made if the control plane ${what} when it is to get the finalizer`, async (world) => {
      let isTold = false;
      world.api.intercept = async ({ method, path, signal }) => {
        if (method === 'PATCH' && path.includes(`/${CONTROL_PLANES}/`) && !isTold) {
          isTold = true;
          deleteHeld(world, 'clusters', CLUSTER);
          act(world);
        }
        // The test delays the deletion of the object, because it would also stop the creation.
        if (method === 'DELETE') await sleep(world.clock, MINUTE, signal);
        return undefined;
      };
      startAndApply(world);
      expect(await world.reason(WEB, 'ClusterDeleting')).to.match(
        / so the controller does not create the Fargate profile\. Delete this object, also from your Git repository; if you recreate the cluster, reapply this object after the old cluster is deleted\.$/,
      );
      await world.clock.advance(10 * MINUTE);
      expect(world.operations()).to.deep.equal([]);
      expect(world.controlPlaneFinalizers).not.to.include(CONTROL_PLANE_FINALIZER);
      world.delete(WEB);
      await world.gone(WEB);
    });

  for (const isStripped of [false, true])
    for (const phase of ['before', 'after'] as const)
      it(`leaves nothing in AWS if EKS carries it out ${phase} the deletion${isStripped ? ', without the control plane finalizer' : ''}`, async (world) => {
        const forget = world.aws.onCall(async ({ operation }, now) => {
          if (operation !== 'CreateFargateProfile' || now !== (phase === 'before' ? 'after' : 'before')) return;
          forget();
          tearDown(world, isStripped);
          await sleep(world.clock, 5 * SECOND, new AbortController().signal);
        });
        startAndApply(world);
        await world.until('the deletion', () => world.profile(WEB)?.metadata.deletionTimestamp !== undefined);
        await world.gone(WEB);
        expect(world.operations()).to.include.members(['CreateFargateProfile', 'DeleteFargateProfile', 'DeleteRole']);
      });

  it('leaves no role if EKS has deleted the cluster meanwhile', async (world) => {
    const forget = world.aws.onCall(({ operation }, phase) => {
      if (operation !== 'CreateFargateProfile' || phase !== 'before') return;
      forget();
      tearDown(world, true);
      world.aws.admin.removeCluster({ name: EKS_CLUSTER });
    });
    startAndApply(world);
    await world.until('the deletion', () => world.profile(WEB)?.metadata.deletionTimestamp !== undefined);
    await world.gone(WEB);
    expect(world.aws.admin.roles()).to.deep.equal([]);
  });
});
