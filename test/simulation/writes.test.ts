import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import { SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { describeWrite, isAbout } from './world/trace.ts';

/**
 * Starts a manager in a simulation in which EKS takes `createMs` to create or delete a Fargate profile, and AWS answers
 * each call after 20 ms.
 */
async function startManager(createMs: Ms): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ aws: { eks: { createMs, deleteMs: createMs }, latencyMs: [20, 20] } });
  world.start();
  await world.clock.advance(30 * SECOND);
  return world;
}

/** The manager's writes to the API server about one AWSFargateProfile and its control plane, in brief, one per line. */
const linesFor = (world: SimulatedWorld, name: string): readonly string[] =>
  world.writes.filter((write) => isAbout(write, name)).map(describeWrite);

describe('the writes to the API server', () => {
  it('of a creation without a wait are these', async () => {
    const world = await startManager(60 * SECOND);
    world.apply('a');
    await world.ready('a');
    await world.clock.advance(SECOND);
    expect(linesFor(world, 'a')).to.deep.equal([
      // Because of the finalizer in this patch, the API server keeps a deleted object until the manager has deleted the
      // AWS resources of the object.
      'finalizers, labels, ownerReferences, record',
      // The manager adds its finalizer to the control plane once for all AWSFargateProfiles of a Cluster.
      'control plane finalizer',
      // These patches record the request for the role, and the role's id before the manager attaches a policy.
      'record',
      'record',
      // These patches record the request for the profile, and the profile's id.
      'record',
      'record',
      // While EKS creates the profile, the manager writes only conditions and Events, which tell the user about the
      // progress of the creation.
      'status Creating',
      'event SuccessfulIAMRoleCreation',
      'event InitiatedCreateEKSFargateProfile',
      // The profile is ACTIVE and matches the spec.
      'record',
      'status Ready',
      'event SuccessfulCreateEKSFargateProfile',
    ]);
    await world.deleteAndFinish('a');
  });

  it('of a creation that waits in line are these', async () => {
    const world = await startManager(60 * SECOND);
    world.apply('a');
    await world.clock.advance(SECOND);
    world.apply('b');
    await world.ready('a', 'b');
    await world.clock.advance(SECOND);
    expect(linesFor(world, 'b')).to.deep.equal([
      'control plane finalizer',
      'finalizers, labels, ownerReferences, record',
      'record',
      'record',
      'status WaitingForSibling',
      'event SuccessfulIAMRoleCreation',
      'record',
      'record',
      'status Creating',
      'event InitiatedCreateEKSFargateProfile',
      'record',
      'status Ready',
      'event SuccessfulCreateEKSFargateProfile',
    ]);
    await world.deleteAndFinish('a', 'b');
  });
});
