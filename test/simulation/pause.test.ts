import { expect } from 'chai';
import { FINALIZER, PAUSED_ANNOTATION as PAUSED, PLURAL } from '../../api/v1beta2/index.ts';
import { CONTROL_PLANE_FINALIZER } from '../../controllers/shared/control-plane/control-plane-finalizer.ts';
import { deleteHeld } from './phases/phase.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';
import { CLUSTER, CONTROL_PLANE_REF, SECOND } from './world/cluster.ts';
import { it } from './world/it.ts';

/**
 * A time that is shorter than every poll interval and every backoff of the manager. So only a watch event can cause a
 * change within this time.
 */
const AT_ONCE = 0.9 * SECOND;

const annotate = (world: SimulatedWorld, value: string | null): void =>
  world.patch(PLURAL, 'a', { metadata: { annotations: { [PAUSED]: value } } });
const pauseCluster = (world: SimulatedWorld, paused: boolean): void =>
  world.patch('clusters', CLUSTER, { spec: { paused } });
const WAYS = [
  ['its Cluster', pauseCluster],
  ['its annotation', (world: SimulatedWorld, on: boolean) => annotate(world, on ? '' : null)],
] as const;

// These tests check what a manager does at the beginning and the end of a pause. Other tests pause a drain
// (drain.test.ts), a waiting object (queue.test.ts), the Cluster that an object has joined (eks-cluster.test.ts), and
// an InstanceGroup (instance-groups.test.ts).
describe('an object paused', () => {
  for (const [by, pause] of WAYS) {
    async function startPaused(world: SimulatedWorld): Promise<void> {
      await world.startWithReady('a');
      pause(world, true);
      await world.until('the pause', () => world.condition('a', 'Paused')?.status === 'True');
    }

    it(`by ${by} applies its changes at once when it is resumed after an hour`, async (world) => {
      await startPaused(world);
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
    });

    it(`by ${by} while no manager runs sets Paused at the start, without AWS calls`, async (world) => {
      const first = await world.startWithReady('a');
      await world.stop(first);
      pause(world, true);
      const calls = world.aws.admin.calls().length;
      world.start();
      await world.until('Paused is True', () => world.condition('a', 'Paused')?.status === 'True', 5 * SECOND);
      expect(world.aws.admin.calls().length).to.equal(calls);
      pause(world, false);
    });

    it(`by ${by} is deleted at once when it is resumed after an hour`, async (world) => {
      await startPaused(world);
      world.delete('a');
      await world.clock.advance(3_600 * SECOND);
      expect(world.aws.admin.profiles()[0]?.status).to.equal('ACTIVE');
      const resumed = world.elapsed;
      pause(world, false);
      await world.until('the deletion', () => world.aws.admin.profiles()[0]?.status !== 'ACTIVE');
      expect(world.elapsed - resumed).to.be.below(AT_ONCE);
      await world.gone('a');
    });
  }
});

describe('an object', () => {
  it('gets its metadata back after a pause, not during it', async (world) => {
    await world.startWithReady('a');
    pauseCluster(world, true);
    await world.clock.advance(SECOND);
    world.patch(PLURAL, 'a', { metadata: { ownerReferences: null, finalizers: null, labels: null } });
    await world.clock.advance(30 * 60 * SECOND);
    const { ownerReferences = [], finalizers = [], labels = {} } = world.profile('a')?.metadata ?? {};
    expect({ ownerReferences, finalizers, labels }).to.deep.equal({ ownerReferences: [], finalizers: [], labels: {} });
    pauseCluster(world, false);
    await world.clock.advance(SECOND);
    expect(world.profile('a')?.metadata.finalizers).to.deep.equal([FINALIZER]);
  });

  it('with deletionPolicy Retain is kept although the caches do not show that its Cluster is paused', async (world) => {
    await world.startWithReadyObject('a', { deletionPolicy: 'Retain' });
    world.changeUnseen(5 * 60 * SECOND, () => pauseCluster(world, true));
    world.delete('a');
    await world.until('the pause', () => world.condition('a', 'Paused')?.status === 'True', 150 * SECOND);
    world.patch(PLURAL, 'a', { spec: { deletionPolicy: 'Delete' } });
    pauseCluster(world, false);
    await world.gone('a');
  });

  for (const [by, pause] of WAYS) {
    it(`that is paused by ${by} just before its role is deleted keeps the role`, async (world) => {
      await world.startWithReady('a');
      const { length } = world.mutations();
      // ListInstanceProfilesForRole is the last call before the manager decides to detach the policies of the role.
      const forget = world.aws.onCall(({ operation }, phase) => {
        const isLast = operation === 'ListInstanceProfilesForRole' && world.eksProfile('a') === undefined;
        if (phase !== 'after' || !isLast) return;
        forget();
        pause(world, true);
      });
      world.delete('a');
      await world.until('the pause', () => world.condition('a', 'Paused')?.status === 'True');
      await world.clock.advance(30 * 60 * SECOND);
      expect(world.operations(length)).to.deep.equal(['DeleteFargateProfile']);
      expect(world.role('a')?.attachedPolicies).to.have.length(1);
      pause(world, false);
      await world.gone('a');
    });
  }

  it('that is paused by its annotation is left out of the teardown of its cluster, which waits for it', async (world) => {
    await world.startWithReady('a');
    annotate(world, '');
    await world.clock.advance(SECOND);
    deleteHeld(world, 'awsmanagedcontrolplanes', CONTROL_PLANE_REF.name);
    await world.clock.advance(30 * 60 * SECOND);
    expect(world.profile('a')?.metadata.deletionTimestamp).to.equal(undefined);
    expect(world.eksProfile('a')?.status).to.equal('ACTIVE');
    expect(world.controlPlaneFinalizers).to.include(CONTROL_PLANE_FINALIZER);
    annotate(world, null);
    await world.gone('a');
  });
});
