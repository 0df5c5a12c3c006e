import { expect } from 'chai';
import { PLURAL } from '../../api/v1beta2/index.ts';
import type { Ms } from '../../pkg/env/clock.ts';
import { MINUTE, SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import type { TenantCluster } from './world/tenants.ts';
import { applyTo, createTenantCluster, isTenantReady } from './world/tenants.ts';

const WEB: TenantCluster = { namespace: 'team-b', name: 'web', region: 'us-east-1' };

const newWorld = (): SimulatedWorld =>
  new SimulatedWorld({ aws: { eks: { createMs: 30 * SECOND, deleteMs: 30 * SECOND } } });

/** Makes EKS in a region stop answering, and creates a Cluster of namespace team-a in this region. */
function createDeadCluster(world: SimulatedWorld, region: string): TenantCluster {
  const cluster = { namespace: 'team-a', name: `dead-${region}`, region };
  world.aws.admin.addFault({ kind: 'no-answer-before', operation: 'eks:*', region });
  createTenantCluster(world, cluster);
  return cluster;
}

/** Advances the virtual clock until all objects of the other tenants are Ready, and returns how long that took. */
async function untilReady(world: SimulatedWorld, others: readonly TenantCluster[]): Promise<Ms> {
  const since = world.elapsed;
  const areReady = (): boolean => others.every(({ namespace }) => isTenantReady(world, namespace, 'new'));
  await world.until('the objects of the other tenants are Ready', areReady, 30 * MINUTE);
  return world.elapsed - since;
}

describe('objects of one tenant in regions that do not answer', () => {
  it('delay nobody by naming the role that the controller computes for an object of another tenant', async () => {
    const run = async (count: number): Promise<Ms> => {
      const world = newWorld();
      createTenantCluster(world, WEB);
      const { namespace, name } = createDeadCluster(world, 'ap-south-1');
      world.start();
      for (let index = 0; index < count; index++)
        world.api.storage.create(world.api.kind(PLURAL), namespace, {
          metadata: { name: `squatter-${index}` },
          spec: { clusterName: name, roleName: 'web-team-b_new_fargate', selectors: [{ namespace: 'x' }] },
        });
      await world.clock.advance(15 * SECOND);
      applyTo(world, WEB, 'new');
      return untilReady(world, [WEB]);
    };
    expect(await run(30)).to.be.at.most(1.2 * (await run(0)));
  });

  it('delay 60 objects of 60 other tenants by less than a third, in however many regions they are', async () => {
    const others = Array.from({ length: 60 }, (_, index) => ({ ...WEB, namespace: `team-${index}` }));
    const run = async (regions: number): Promise<Ms> => {
      const world = newWorld();
      for (const cluster of others) createTenantCluster(world, cluster);
      world.start();
      for (let region = 0; region < regions; region++) {
        const cluster = createDeadCluster(world, `xx-dead-${region}`);
        applyTo(world, cluster, ...['1', '2', '3', '4', '5'].map((number) => `${cluster.name}-${number}`));
      }
      await world.clock.advance(15 * SECOND);
      for (const cluster of others) applyTo(world, cluster, 'new');
      return untilReady(world, others);
    };
    expect(await run(31)).to.be.at.most(1.3 * (await run(0)));
  });
});
