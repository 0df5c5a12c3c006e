import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import type { FaultKind } from '../aws/faults.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';
import { EKS_CLUSTER, HOUR, MINUTE } from './world/cluster.ts';
import { it } from './world/it.ts';

const NAMES = ['a', 'b', 'c'];
const DAY: Ms = 24 * HOUR;
/** The interval at which the manager compares an AWSFargateProfile with AWS (resync): the default of --sync-period. */
const RESYNC: Ms = 10 * MINUTE;

/**
 * Starts a manager, creates AWSFargateProfiles, and waits until they are Ready and the manager has then compared each
 * of them with AWS once.
 */
async function atRest(world: SimulatedWorld, ...flags: readonly string[]): Promise<void> {
  world.start(...flags);
  world.apply(...NAMES);
  await world.ready(...NAMES);
  await world.clock.advance(1.1 * RESYNC);
}

describe('idle objects', () => {
  it('need three AWS reads per resync, a look at all profiles per hour, and no write for a day', async (world) => {
    await atRest(world);
    const writes = world.writes.length;
    const afterSeq = world.aws.admin.calls().length;
    await world.clock.advance(DAY);

    expect(world.writes.slice(writes)).to.deep.equal([]);
    const calls = world.aws.admin.calls({ afterSeq });
    expect(calls.filter(({ mutates }) => mutates)).to.deep.equal([]);
    const readsOf = (operation: string) => calls.filter((call) => call.operation === operation).length;
    const [resyncs, surveys] = [readsOf('GetRole'), readsOf('ListFargateProfiles')];
    expect(surveys / NAMES.length, 'looks of an object at all profiles').to.be.within(DAY / HOUR / 1.4, DAY / HOUR);
    expect(resyncs / NAMES.length, 'resyncs of an object').to.be.within(DAY / RESYNC / 1.1, DAY / RESYNC / 0.9);
    expect(readsOf('ListAttachedRolePolicies')).to.equal(resyncs);
    expect(calls.length, 'reads').to.equal(3 * resyncs + NAMES.length * surveys);
    await world.deleteAndFinish(...NAMES);
    expect(world.problems()).to.deep.equal([]);
  });

  it('have their first resync after a manager start at random times', async (world) => {
    await atRest(world);
    await world.stopAll();
    const writes = world.writes.length;
    const afterSeq = world.aws.admin.calls().length;
    const begin = world.clock.now();
    world.start();
    await world.clock.advance(RESYNC);

    expect(world.writes.slice(writes)).to.deep.equal([]);
    const calls = world.aws.admin.calls({ afterSeq });
    const resyncs = calls.filter(({ operation }) => operation === 'GetRole').map(({ at }) => at - begin);
    expect(resyncs, 'one resync per object').to.have.length(NAMES.length);
    expect(Math.max(...resyncs) - Math.min(...resyncs), 'spread of the resyncs').to.be.above(MINUTE);
    const readsOfAll = NAMES.length * (3 + NAMES.length);
    expect(calls.length, 'reads of all profiles, and one GetCallerIdentity').to.equal(readsOfAll + 1);
  });
});

describe('a change that another client makes in AWS', () => {
  const role = 'prod-default_a_fargate';
  const removeRole = (world: SimulatedWorld) => world.aws.admin.removeRole({ name: role });
  const removeProfile = (world: SimulatedWorld) =>
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'default_a' });

  for (const [what, change] of [
    ['profile', removeProfile],
    ['role', removeRole],
  ] as const)
    it(`of the ${what} is seen at the next resync`, async (world) => {
      await atRest(world);
      await world.clock.advance(RESYNC);
      const { length } = world.mutations();
      change(world);
      await world.until('the correction', () => world.mutations().length > length, 1.1 * RESYNC + MINUTE);
      await world.ready(...NAMES);
    });

  it('is seen at once when a user changes the object', async (world) => {
    await atRest(world);
    await world.clock.advance(1.1 * RESYNC);
    const { length } = world.mutations();
    removeRole(world);
    world.triggerReconcile('a');
    await world.until('the correction', () => world.mutations().length > length, MINUTE);
    await world.ready(...NAMES);
  });
});

describe('an outage of AWS', () => {
  const kinds: readonly FaultKind[] = ['500-before', 'no-answer-before', 'html-503'];
  for (const kind of kinds)
    it(`keeps Ready True for 15 minutes and sets Unknown until its end (${kind})`, async (world) => {
      await atRest(world, '--sync-period', '1m');
      const changes = world.readyChanges('a');
      const begin = world.aws.admin.calls().length;
      const fault = world.aws.admin.addFault({ operation: '*', kind });
      await world.until('Ready is Unknown', () => changes.length > 0, HOUR);
      const [failed] = world.aws.admin.calls({ afterSeq: begin });
      const [doubted] = changes;
      expect(doubted?.status).to.equal('Unknown');
      expect((doubted?.at ?? 0) - (failed?.at ?? 0), 'from the first failed call to Unknown').to.be.within(
        15 * MINUTE,
        17 * MINUTE,
      );
      world.aws.admin.removeFault({ id: fault });
      const end = world.clock.now();
      await world.ready(...NAMES);
      expect(world.clock.now() - end).to.be.below(2 * MINUTE);
      expect(changes.map(({ status }) => status)).to.deep.equal(['Unknown', 'True']);
      expect(world.mutations().filter(({ fault: struck }) => struck !== undefined)).to.deep.equal([]);
    });
});
