import { expect } from 'chai';
import type { KubeObject } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import { fieldAt } from 'controller-runtime/json';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { MINUTE, SECOND } from './world/cluster.ts';
import { conditionsOf } from './world/problems.ts';
import type { TenantCluster } from './world/tenants.ts';
import { applyTo, createTenantCluster, isTenantReady, tenantProfile } from './world/tenants.ts';

const CREATE: Ms = MINUTE;
const DELETE: Ms = MINUTE;
/**
 * The largest factor by which the AWSFargateProfiles of one tenant may prolong the creation or deletion of another
 * tenant's AWSFargateProfile.
 */
const TOLERANCE = 1.2;
const DEAD_REGION = 'ap-south-1';
const HEALTHY: TenantCluster = { namespace: 'team-b', name: 'web', region: 'us-east-1' };

/** 100 Clusters of one tenant, all in one namespace, and in an AWS region in which EKS does not answer. */
const DEAD: readonly TenantCluster[] = Array.from({ length: 100 }, (_, index) => ({
  namespace: 'team-a',
  name: `dead-${index}`,
  region: DEAD_REGION,
}));

const newWorld = (): SimulatedWorld => {
  const world = new SimulatedWorld({ aws: { eks: { createMs: CREATE, deleteMs: DELETE } } });
  createTenantCluster(world, HEALTHY);
  return world;
};

/**
 * Makes EKS in one AWS region stop answering, and creates 500 AWSFargateProfiles of namespace team-a in this region.
 */
function applyDeadObjects(world: SimulatedWorld): void {
  world.aws.admin.addFault({ kind: 'no-answer-before', operation: 'eks:*', region: DEAD_REGION });
  for (const cluster of DEAD) {
    createTenantCluster(world, cluster);
    applyTo(world, cluster, ...['1', '2', '3', '4', '5'].map((number) => `${cluster.name}-${number}`));
  }
}

/** Advances the virtual clock until the condition holds, and returns how long that took. */
async function measure(world: SimulatedWorld, what: string, holds: () => boolean): Promise<Ms> {
  const since = world.elapsed;
  await world.until(what, holds, 30 * MINUTE);
  return world.elapsed - since;
}

const becomesReady = (world: SimulatedWorld): Promise<Ms> => {
  applyTo(world, HEALTHY, 'new');
  return measure(world, 'the new object is Ready', () => isTenantReady(world, HEALTHY.namespace, 'new'));
};

const becomesGone = (world: SimulatedWorld, name: string): Promise<Ms> => {
  world.api.storage.delete(world.api.kind(PLURAL), { namespace: HEALTHY.namespace, name });
  return measure(world, 'the object is gone', () => tenantProfile(world, HEALTHY.namespace, name) === undefined);
};

describe('500 objects of one tenant in a region that does not respond', () => {
  it('prolong creations and deletions for another tenant by at most 20%', async () => {
    const alone = newWorld();
    alone.start();
    const limits = { ready: await becomesReady(alone), gone: await becomesGone(alone, 'new') };

    const world = newWorld();
    world.start();
    await world.clock.advance(5 * SECOND);
    applyDeadObjects(world);
    await world.clock.advance(15 * SECOND);
    const ready = await becomesReady(world);
    expect(ready, 'until Ready').to.be.at.most(TOLERANCE * limits.ready);
    const gone = await becomesGone(world, 'new');
    expect(gone, 'until gone').to.be.at.most(TOLERANCE * limits.gone);
  });

  it('barely delay a deletion that a restarted manager finds', async () => {
    const world = newWorld();
    const first = world.start();
    await becomesReady(world);
    await world.stop(first);
    applyDeadObjects(world);
    world.api.storage.delete(world.api.kind(PLURAL), { namespace: HEALTHY.namespace, name: 'new' });
    world.start();
    const gone = await measure(
      world,
      'the object is gone',
      () => tenantProfile(world, HEALTHY.namespace, 'new') === undefined,
    );
    expect(gone).to.be.at.most(TOLERANCE * DELETE + 5 * SECOND);
  });

  it('all report within minutes that the region does not respond', async () => {
    const world = newWorld();
    world.start();
    applyDeadObjects(world);
    const isTold = (object: KubeObject): boolean =>
      conditionsOf(object).some(({ type, reason }) => type === 'Ready' && reason === 'AWSUnavailable');
    const told = await measure(world, 'all are told', () => world.objects(PLURAL).filter(isTold).length === 500);
    // The group of the region has ten slots, and each reconcile waits ten seconds for an answer of AWS. So 500
    // AWSFargateProfiles take 500 seconds. Every fourth reconcile may be the retry of an object that was told already.
    expect(told).to.be.at.most((4 / 3) * 500 * SECOND);
  });
});

describe('resyncs that use up the limit of AWS reads', () => {
  it('delay neither the creation nor the change of an object', async () => {
    const world = new SimulatedWorld({ aws: { eks: { createMs: SECOND } } });
    const clusters = Array.from({ length: 20 }, (_, index) => ({ ...HEALTHY, namespace: `team-${index}` }));
    const names = ['1', '2', '3', '4', '5'];
    for (const cluster of clusters) {
      createTenantCluster(world, cluster);
      applyTo(world, cluster, ...names);
    }
    // With this period, 100 objects need four times as many reads of IAM as the rate limiter lets through.
    world.start('--sync-period=500ms');
    const areReady = (): boolean =>
      clusters.every(({ namespace }) => names.every((name) => isTenantReady(world, namespace, name)));
    await world.until('all are Ready', areReady, MINUTE);

    const key = { namespace: 'team-7', name: '3' };
    world.api.storage.mergePatch(world.api.kind(PLURAL), key, { spec: { additionalTags: { team: 'a' } } });
    const changed = await measure(world, 'the change is made', () => {
      const object = tenantProfile(world, key.namespace, key.name);
      return fieldAt(object?.status, 'observedGeneration') === object?.metadata.generation;
    });
    expect(changed).to.be.at.most(2 * SECOND);
  });
});
