import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import type { CallRecord } from '../aws/call-log.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { MINUTE, SECOND } from './world/cluster.ts';
import { type TenantCluster, applyTo, createTenantCluster } from './world/tenants.ts';

const newCluster = (name: string): TenantCluster => ({ namespace: 'team-a', name, region: 'us-east-1' });
const CLUSTERS: readonly TenantCluster[] = Array.from({ length: 40 }, (_, index) => newCluster(`cluster-${index}`));
const LATE = newCluster('late');

/**
 * Starts a manager in a simulation with 41 Clusters. AWS answers every call after 20 ms, and EKS takes `createMs` to
 * create a Fargate profile.
 */
async function startManager(createMs: Ms = MINUTE): Promise<SimulatedWorld> {
  const world = new SimulatedWorld({ aws: { eks: { createMs, deleteMs: createMs }, latencyMs: [20, 20] } });
  for (const cluster of [...CLUSTERS, LATE]) createTenantCluster(world, cluster);
  world.start();
  await world.clock.advance(5 * SECOND);
  return world;
}

function applyToAll(world: SimulatedWorld, profilesEach: number): void {
  for (const cluster of CLUSTERS) {
    applyTo(world, cluster, ...Array.from({ length: profilesEach }, (_, index) => `${cluster.name}-${index}`));
  }
}

/** Waits until EKS has received CreateFargateProfile for each of the given clusters, and returns how long that took. */
async function timeOfFirstCreates(world: SimulatedWorld, clusters: readonly TenantCluster[]): Promise<Ms> {
  const since = world.elapsed;
  const isCreated = ({ namespace, name }: TenantCluster): boolean =>
    world.aws.admin
      .calls()
      .some(
        ({ operation, identifiers }) =>
          operation === 'CreateFargateProfile' && identifiers['clusterName'] === `${namespace}_${name}`,
      );
  await world.until('the first creates', () => clusters.every(isCreated), MINUTE);
  return world.elapsed - since;
}

describe('40 clusters with five new profiles each', () => {
  it('get their first creates at nearly the same time as 40 clusters with one profile each', async () => {
    const [one, five] = [await startManager(), await startManager()];
    applyToAll(one, 1);
    applyToAll(five, 5);
    const alone = await timeOfFirstCreates(one, CLUSTERS);
    expect(await timeOfFirstCreates(five, CLUSTERS)).to.be.at.most(2 * alone);
  });

  it('get their second creates in time, in whatever order the objects were created', async () => {
    const world = await startManager(2 * SECOND);
    const names = ({ name }: TenantCluster): readonly string[] => [0, 1, 2, 3, 4].map((index) => `${name}-${index}`);
    for (const [index, cluster] of CLUSTERS.entries()) {
      applyTo(world, cluster, ...(index % 2 === 0 ? names(cluster) : names(cluster).toReversed()));
    }
    const creates = (): readonly CallRecord[] =>
      world.aws.admin.calls().filter(({ operation }) => operation === 'CreateFargateProfile');
    await world.until('the first creates', () => creates().length >= 2 * CLUSTERS.length, MINUTE);
    const gaps = CLUSTERS.map(({ namespace, name }) => {
      const [first, second] = creates().filter(
        ({ identifiers }) => identifiers['clusterName'] === `${namespace}_${name}`,
      );
      return (second?.at ?? Infinity) - (first?.at ?? 0);
    });
    expect(Math.max(...gaps), gaps.join(', ')).to.be.at.most(4 * SECOND);
  });

  it('do not delay the first create of another cluster', async () => {
    const [idle, busy] = [await startManager(), await startManager()];
    applyToAll(busy, 5);
    await timeOfFirstCreates(busy, CLUSTERS);
    for (const world of [idle, busy]) applyTo(world, LATE, 'late');
    const alone = await timeOfFirstCreates(idle, [LATE]);
    // The objects of all these clusters share a group with a limited number of slots. So the new object waits for a
    // slot, behind the objects that already wait for one.
    expect(await timeOfFirstCreates(busy, [LATE])).to.be.at.most(alone + 2 * SECOND);
  });
});
