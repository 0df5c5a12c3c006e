import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import { isRecord } from 'controller-runtime/json';
import { SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import type { KubeWrite } from './world/trace.ts';

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

function isAbout({ path, body }: KubeWrite, name: string): boolean {
  if (path.includes('/awsmanagedcontrolplanes/')) return true;
  if (!path.endsWith('/events')) return path.includes(`/awsfargateprofiles/${name}`);
  const involved = asRecord(asRecord(JSON.parse(body))['involvedObject']);
  return involved['name'] === name;
}

function describeWrite({ path, body }: KubeWrite): string {
  const patch = asRecord(JSON.parse(body));
  if (path.endsWith('/events')) return `event ${String(patch['reason'])}`;
  if (path.includes('/awsmanagedcontrolplanes/')) return 'control plane finalizer';
  if (path.endsWith('/status')) return `status ${describeStatus(asRecord(patch['status']))}`;
  const { resourceVersion: _precondition, ...metadata } = asRecord(patch['metadata']);
  return `metadata ${Object.keys(metadata).toSorted().join(', ')}`;
}

/** Describes a status patch by the reason of its condition Ready. */
function describeStatus({ conditions }: Readonly<Record<string, unknown>>): string {
  const all = Array.isArray(conditions) ? conditions.map(asRecord) : [];
  return String(all.find(({ type }) => type === 'Ready')?.['reason']);
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

describe('the writes to the API server', () => {
  it('of a creation without a wait are these', async () => {
    const world = await startManager(60 * SECOND);
    world.apply('a');
    await world.ready('a');
    await world.clock.advance(SECOND);
    expect(linesFor(world, 'a')).to.deep.equal([
      // Because of the finalizer in this patch, the API server keeps a deleted object until the manager has deleted the
      // AWS resources of the object.
      'metadata annotations, finalizers, labels, ownerReferences',
      // The manager adds its finalizer to the control plane once for all AWSFargateProfiles of a Cluster.
      'control plane finalizer',
      // These patches record the request for the role, and the role's id before the manager attaches a policy.
      'metadata annotations',
      'metadata annotations',
      // These patches record the request for the profile, and the profile's id.
      'metadata annotations',
      'metadata annotations',
      // While EKS creates the profile, the manager writes only conditions and Events, which tell the user about the
      // progress of the creation.
      'status Creating',
      'event SuccessfulIAMRoleCreation',
      'event InitiatedCreateEKSFargateProfile',
      // The profile is ACTIVE and matches the spec.
      'metadata annotations',
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
      'metadata annotations, finalizers, labels, ownerReferences',
      'metadata annotations',
      'metadata annotations',
      'status WaitingForSibling',
      'event SuccessfulIAMRoleCreation',
      'metadata annotations',
      'metadata annotations',
      'status Creating',
      'event InitiatedCreateEKSFargateProfile',
      'metadata annotations',
      'status Ready',
      'event SuccessfulCreateEKSFargateProfile',
    ]);
    await world.deleteAndFinish('a', 'b');
  });
});
