import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import { errorMessage } from 'controller-runtime/text';
import { recordedIn } from './world/records.ts';
import type { SimulatedManager } from './world/simulated-manager.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { HOUR, MINUTE, SECOND } from './world/cluster.ts';

const NAMES = ['a', 'b', 'c'];
/**
 * LEASE is the default of --leader-elect-lease-duration. LONGEST_RETRY is 4.4 s: the default of
 * --leader-elect-retry-period (2 s), plus the largest random addition (1.2 times this default).
 */
const LEASE: Ms = 15 * SECOND;
const LONGEST_RETRY: Ms = 2.2 * 2 * SECOND;
/** The minimum time between the end of an AWS change by the leader and the expiry of the leader's Lease. */
const MARGIN: Ms = 2 * SECOND;

const LEASE_PATH = '/leases/capaf-leader-election';

/**
 * Returns the times at which the given manager successfully created, took over or renewed the Lease. Renewals that the
 * API server refused do not count.
 */
const renewals = (world: SimulatedWorld, { name }: SimulatedManager): readonly Ms[] =>
  world.writes
    .filter(({ from, path, method, status = 0 }) => {
      const isLease = path.includes(LEASE_PATH) || (method === 'POST' && path.endsWith('/leases'));
      return from === name && isLease && status < 300;
    })
    .map(({ at }) => at);

/**
 * Creates nine IAM policies. Attaching them to a role keeps the leader busy in AWS for a while. With the policy that
 * every pod execution role has, the role then has ten policies, the maximum in IAM.
 */
const policies = (world: SimulatedWorld): readonly string[] =>
  Array.from({ length: 9 }, (_, index) => world.aws.admin.putPolicy({ name: `policy-${index}` }));

const mutationsOf = (world: SimulatedWorld, { accessKeyId }: SimulatedManager) =>
  world.aws.admin.calls({ accessKeyId, mutates: true });

const countActions = (world: SimulatedWorld, manager: SimulatedManager): number =>
  world.aws.admin.calls({ accessKeyId: manager.accessKeyId }).length +
  world.writes.filter(({ from }) => from === manager.name).length;

describe('leader election', () => {
  it('lets only the leader act, and a successor take over within the retry period after an orderly stop', async () => {
    const world = new SimulatedWorld();
    const leader = world.start('--leader-elect');
    await world.clock.advance(SECOND);
    const other = world.start('--leader-elect');
    world.apply('a');
    await world.ready('a');
    expect(countActions(world, other), 'actions of the other manager').to.equal(0);
    world.delete('a');
    await world.clock.advance(5 * SECOND);
    // When the test stops a manager, the manager aborts its open requests. The check at the end of the test would
    // report an aborted write, so the test first waits until no write is open.
    await world.until('no open write', () => world.writes.every(({ status }) => status !== undefined));
    await world.stop(leader);
    const ended = world.clock.now();
    await world.gone('a');
    expect((renewals(world, other)[0] ?? Infinity) - ended, 'the retry period').to.be.below(5 * SECOND);
    await world.finish();
    expect(world.problems()).to.deep.equal([]);
  });

  for (let seed = 1; seed <= 4; seed++)
    it(`stops a leader without API server from changing AWS after its lease (seed ${seed})`, async () => {
      const world = new SimulatedWorld({ seed, aws: { latencyMs: [SECOND, 4 * SECOND] } });
      // With a renew deadline that is longer than the default, the leader still runs when its lease is about to expire.
      // Then only the check of the lease before each AWS mutation prevents further mutations.
      const flags = ['--leader-elect', '--leader-elect-renew-deadline', '14s'];
      const leader = world.start(...flags);
      await world.clock.advance(SECOND);
      // The wall clock of the second manager is wrong by one hour, to test that leader election does not depend on
      // equal clocks.
      const other = world.startSkewed(seed % 2 === 0 ? HOUR : -HOUR, ...flags);
      // The leader now changes AWS for half a minute, and needs no request to the API server during that time.
      for (const name of NAMES) world.applyWith(name, { roleAdditionalPolicies: policies(world) });
      await world.until('changes', () => mutationsOf(world, leader).length > NAMES.length);
      await world.clock.advance(world.random.next() * 4 * SECOND);
      leader.kubeConnection.cut();
      const cut = world.clock.now();
      await world.until('the other leads', () => renewals(world, other).length > 0, MINUTE);
      const takenOver = renewals(world, other)[0] ?? 0;
      expect(takenOver - cut, 'time without a leader').to.be.below(LEASE + LONGEST_RETRY + SECOND);

      await world.ready(...NAMES);
      const leaseEnd = (renewals(world, leader).at(-1) ?? 0) + LEASE;
      const sent = mutationsOf(world, leader).map(({ at }) => at);
      expect(Math.max(...sent), 'the last mutation').to.be.within(cut + SECOND, leaseEnd - MARGIN);
      expect(leaseEnd).to.be.below(takenOver);
      expect(errorMessage(leader.ended?.error)).to.include('the lease could not be renewed in time');

      world.delete(...NAMES);
      await world.gone(...NAMES);
      const creates = world.mutations().filter(({ operation, applied }) => operation.startsWith('Create') && applied);
      expect(creates, 'created roles and profiles').to.have.length(2 * NAMES.length);
      await world.finish();
    });

  it('lets a deletion proceed at once after the expiring lease prevented the create', async () => {
    const world = new SimulatedWorld();
    const leader = world.start('--leader-elect', '--leader-elect-renew-deadline', '14s');
    const stopListening = world.api.storage.listen(({ object }) => {
      if (recordedIn(object, 'profiles').every(({ requestedAt }) => requestedAt === undefined)) return;
      leader.kubeConnection.cut();
      stopListening();
    });
    world.apply('a');
    await world.clock.advance(5 * SECOND);
    // The leader records that it is about to call CreateFargateProfile. The answer to this patch
    // arrives just before the lease expires. So the leader does not make the call, and first renews its lease.
    await world.clock.advance(8.5 * SECOND);
    leader.kubeConnection.restore();
    await world.until(
      'the end of the reconcile',
      () => leader.logger.linesWith('Reconcile ended without a result').length > 0,
      SECOND,
    );
    world.delete('a');
    const deleted = world.elapsed;
    await world.gone('a');
    expect(world.elapsed - deleted, 'without the minute in which a create may still appear').to.be.below(10 * SECOND);
    expect(world.mutations().map(({ operation }) => operation)).to.not.include('CreateFargateProfile');
    expect(world.warnings(), 'warnings').to.deep.equal([]);
    await world.finish();
  });
});
