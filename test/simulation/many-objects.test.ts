import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import { PLURAL } from '../../api/v1beta2/index.ts';
import { CAPA_TRUST } from '../world/aws/capa-resources.ts';
import { MINUTE, SECOND } from './world/cluster.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { type TenantCluster, applyTo, createTenantCluster, isTenantReady } from './world/tenants.ts';

const WEB: TenantCluster = { namespace: 'team-b', name: 'web', region: 'us-east-1' };

const newWorld = (): SimulatedWorld =>
  new SimulatedWorld({ aws: { eks: { createMs: 5 * SECOND, deleteMs: 5 * SECOND } } });

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

describe('objects of one tenant in regions that do not respond', () => {
  it('delay an object of another tenant by at most 20% if they use the same role', async () => {
    const run = async (count: number): Promise<Ms> => {
      const world = newWorld();
      world.aws.admin.putRole({ name: 'shared', trustPolicy: CAPA_TRUST });
      createTenantCluster(world, WEB);
      const dead = { namespace: 'team-a', name: 'dead', region: 'ap-south-1' };
      createTenantCluster(world, dead);
      // The manager locks the role while it waits for the answer to CreateFargateProfile, which never arrives.
      world.aws.admin.addFault({ kind: 'no-answer-before', operation: 'CreateFargateProfile', region: dead.region });
      world.start();
      const apply = ({ namespace, name }: TenantCluster, object: string): unknown =>
        world.api.storage.create(world.api.kind(PLURAL), namespace, {
          metadata: { name: object },
          spec: { clusterName: name, roleName: 'shared', selectors: [{ namespace: 'x' }] },
        });
      for (let index = 0; index < count; index++) apply(dead, `squatter-${index}`);
      await world.clock.advance(15 * SECOND);
      apply(WEB, 'new');
      return untilReady(world, [WEB]);
    };
    expect(await run(30)).to.be.at.most(1.2 * (await run(0)));
  });

  it('delay 60 objects of 60 other tenants by at most 30%, even across 45 regions', async () => {
    const others = Array.from({ length: 60 }, (_, index) => ({ ...WEB, namespace: `team-${index}` }));
    const run = async (regions: number): Promise<Ms> => {
      const world = newWorld();
      for (const cluster of others) createTenantCluster(world, cluster);
      // With two slots for each group, the manager has only few slots in all, so the dead regions could occupy all of
      // them.
      world.start('--awsfargateprofile-concurrency', '2');
      for (let region = 0; region < regions; region++) {
        const cluster = createDeadCluster(world, `xx-dead-${region}`);
        applyTo(world, cluster, ...['1', '2', '3', '4', '5'].map((number) => `${cluster.name}-${number}`));
      }
      await world.clock.advance(15 * SECOND);
      for (const cluster of others) applyTo(world, cluster, 'new');
      return untilReady(world, others);
    };
    expect(await run(45)).to.be.at.most(1.3 * (await run(0)));
  });
});

interface Refused {
  readonly spec: object;
  readonly status?: object;
}

/** Creates objects of one tenant that the manager refuses without a call to AWS, and whose names are hashed. */
function createRefused({ api }: SimulatedWorld, count: number, { spec, status }: Refused): void {
  const kind = api.kind(PLURAL);
  for (let index = 0; index < count; index++) {
    const key = { namespace: 'team-a', name: `${'x'.repeat(100)}-${index}` };
    const metadata = { name: key.name };
    api.storage.create(kind, key.namespace, { metadata, spec: { selectors: [{ namespace: 'x' }], ...spec } });
    if (status !== undefined) api.storage.mergePatch(kind, key, { status }, 'status');
  }
}

const KINDS_OF_REFUSED: readonly (Refused & { readonly what: string })[] = [
  {
    what: 'for an EKS cluster that the operator does not allow',
    spec: { eksCluster: { name: 'prod', region: 'us-east-1' } },
  },
  { what: 'that wait for a Cluster', spec: { clusterName: 'absent' } },
  {
    what: 'that claim profiles of one EKS cluster in their status',
    spec: { clusterName: 'absent' },
    status: { account: '123456789012', region: 'us-east-1', eksClusterName: 'prod', profileARN: 'arn:aws:eks' },
  },
];

describe('hundreds of objects of one tenant', () => {
  for (const { what, ...refused } of KINDS_OF_REFUSED)
    describe(what, () => {
      it('use processor time roughly in proportion to their number', async () => {
        const run = async (count: number): Promise<number> => {
          const before = process.threadCpuUsage();
          const world = newWorld();
          createRefused(world, count, refused);
          const first = world.start();
          await world.clock.advance(MINUTE);
          first.kill();
          world.start();
          await world.clock.advance(MINUTE);
          const { user, system } = process.threadCpuUsage(before);
          return user + system;
        };
        // The first run also compiles the code.
        await run(100);
        const few = [await run(200), await run(200)];
        const many = [await run(800), await run(800)];
        // Other processes on the processor make a run slower, never faster.
        expect(Math.min(...many)).to.be.at.most(7 * Math.min(...few));
      });

      it('are reconciled in separate turns of the event loop, even if they need no requests', async () => {
        const world = newWorld();
        createRefused(world, 200, refused);
        const first = world.start();
        await world.clock.advance(MINUTE);
        first.kill();
        const second = world.start('--awsfargateprofile-concurrency', '1');
        const { lines } = second.logger;
        let [most, total, ticking] = [0, 0, true];
        const tick = (): void => {
          const passes = lines.splice(0).filter(({ message }) => message === 'Reconcile done, requeueing').length;
          most = Math.max(most, passes);
          total += passes;
          if (ticking) setImmediate(tick);
        };
        tick();
        await world.clock.advance(MINUTE);
        ticking = false;
        expect(total).to.be.at.least(200);
        // Four reconciles of one worker can begin in four different turns. They still end in the same turn if all of
        // them wait for the same request.
        expect(most).to.be.at.most(4);
      });
    });
});
