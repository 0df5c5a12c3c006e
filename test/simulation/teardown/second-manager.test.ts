import { expect } from 'chai';
import { FINALIZER, PLURAL } from '../../../api/v1beta2/index.ts';
import { CONTROL_PLANE_FINALIZER } from '../../../controllers/shared/control-plane/control-plane-finalizer.ts';
import { deleteHeld } from '../phases/phase.ts';
import { CLUSTER, CONTROL_PLANE_REF, MINUTE, SECOND } from '../world/cluster.ts';
import { it } from '../world/it.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';

const FILTER = 'cluster.x-k8s.io/watch-filter';

describe('a second manager with another watch filter', () => {
  const create = (world: SimulatedWorld, name: string, metadata: object = {}): void =>
    world.create(PLURAL, {
      metadata: { name, labels: { [FILTER]: name }, ...metadata },
      spec: { clusterName: CLUSTER, selectors: [{ namespace: name }] },
    });
  const hasFinalizer = (world: SimulatedWorld): boolean =>
    world.controlPlaneFinalizers.includes(CONTROL_PLANE_FINALIZER);

  // The list request of the first manager finds no AWSFargateProfile, so this manager removes the finalizer from the
  // control plane. Between the list request and the removal, the second manager sees the finalizer and therefore does
  // not add it.
  it('adds the control plane finalizer again if the first manager removes it while the second one starts', async (world) => {
    world.start('--watch-filter', 'blue');
    create(world, 'blue');
    await world.ready('blue');
    let isRemoving = false;
    let remove = (): void => {};
    const released = new Promise<void>((resolve) => (remove = resolve));
    world.api.intercept = async ({ method, path, body }) => {
      const isRemoval =
        method === 'PATCH' && path.includes('awsmanagedcontrolplanes') && !String(body).includes('profiles');
      if (!isRemoval || isRemoving) return undefined;
      isRemoving = true;
      await released;
      return undefined;
    };
    world.delete('blue');
    await world.until('the removal', () => isRemoving, 10 * MINUTE);
    create(world, 'green', { finalizers: [FINALIZER] });
    world.start('--watch-filter', 'green');
    await world.until('the create in EKS', () =>
      world.aws.admin.profiles().some(({ name }) => name === 'default_green'),
    );
    expect(hasFinalizer(world), 'the finalizer before its removal').to.equal(true);
    remove();
    await world.until('the removal of the finalizer', () => !hasFinalizer(world), SECOND);
    await world.until('the finalizer again', () => hasFinalizer(world), SECOND);
    await world.ready('green');
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    await world.gone('blue', 'green');
  });
});
