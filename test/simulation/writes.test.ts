import { expect } from 'chai';
import { SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { describeWrite, isAbout } from './world/trace.ts';

/** The manager's writes to the API server about one AWSFargateProfile and its control plane, in brief, one per line. */
const linesFor = (world: SimulatedWorld, name: string): readonly string[] =>
  world.writes.filter((write) => isAbout(write, name)).map(describeWrite);

// The stories show the writes of a creation without a wait, but no Events.
describe('the writes to the API server', () => {
  it('of a creation that waits in line are these', async () => {
    const world = new SimulatedWorld({
      aws: { eks: { createMs: 60 * SECOND, deleteMs: 60 * SECOND }, latencyMs: [20, 20] },
    });
    world.start();
    await world.clock.advance(30 * SECOND);
    world.apply('a');
    await world.clock.advance(SECOND);
    world.apply('b');
    await world.ready('a', 'b');
    await world.clock.advance(SECOND);
    expect(linesFor(world, 'b')).to.deep.equal([
      // The manager adds its finalizer to the control plane once for all AWSFargateProfiles of a Cluster.
      'control plane finalizer added',
      // Because of the finalizer in this patch, the API server keeps a deleted object until the manager has deleted the
      // AWS resources of the object.
      'finalizers, labels, ownerReferences, record',
      // These patches record the request for the role, and the role's id before the manager attaches a policy.
      'record',
      'record',
      'status WaitingForSibling',
      'event SuccessfulIAMRoleCreation',
      // These patches record the request for the profile, and the profile's id.
      'record',
      'record',
      // While EKS creates the profile, the manager writes only conditions and Events, which tell the user about the
      // progress of the creation.
      'status Creating',
      'event InitiatedCreateEKSFargateProfile',
      // The profile is ACTIVE and matches the spec.
      'record',
      'status Ready',
      'event SuccessfulCreateEKSFargateProfile',
    ]);
    await world.deleteAndFinish('a', 'b');
  });
});
