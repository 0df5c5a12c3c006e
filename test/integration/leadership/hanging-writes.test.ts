import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { Gate } from '../../support/gate.ts';
import { startApiHttpProxy } from '../../world/manager/api-proxy.ts';
import { leaseHistoryOf } from '../../world/manager/lease-history.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';

/** How often the leader must renew its Lease while the writes hang. */
const RENEWALS = 5;
/**
 * The number of AWSFargateProfiles. It is larger than the number of connections that the manager has to the API server.
 */
const OBJECTS = 80;
/**
 * The number of writes that hang before the test continues. The manager has at least this many connections for writes,
 * besides those of its watches.
 */
const OCCUPIED = 50;

describe('a leader whose writes all hang, as in a webhook without an answer', () => {
  const world = useWorld();

  before(async () => {
    await world.createEksCluster('prod');
  });

  it('renews its lease on connections of its own', async () => {
    const lease = leaseHistoryOf(world);
    world.addCleanup(() => lease.stop());
    const { proxy, kubeconfigPath } = await startApiHttpProxy(world.controlPlane);
    world.addCleanup(() => proxy.close());
    const gate = new Gate('a write of an object');
    let held = 0;
    proxy.holdRequests(gate, ({ method, path }) => {
      const isWanted = method === 'PATCH' && path.includes('/awsfargateprofiles/');
      held += isWanted ? 1 : 0;
      return isWanted;
    });
    const names = Array.from({ length: OBJECTS }, (_, index) => `hangs-${index}`);
    await world.apply(...names.map((name) => fargateProfile(name)));
    const manager = await world.startManager({
      kubeconfigPath,
      flags: ['--leader-elect', '--leader-elect-retry-period=250ms', `--awsfargateprofile-concurrency=${OBJECTS}`],
    });
    await eventually(() => held >= OCCUPIED, { what: 'the hanging writes' });
    const occupiedAt = Date.now();
    await eventually(() => lease.versions.filter(({ renewedAt }) => renewedAt > occupiedAt).length >= RENEWALS, {
      what: 'renewals',
    });
    expect(manager.exit()).to.equal(undefined);
    expect(lease.versions.at(-1)?.transitions).to.equal(0);

    // The test still holds the requests that add the finalizers. So the AWSFargateProfiles have no finalizer, and the
    // API server removes them as soon as the test deletes them.
    for (const name of names) await world.delete(name);
    gate.open();
  });
});
