import { expect } from 'chai';
import type { Ms } from '../../pkg/env/clock.ts';
import { errorMessage } from '../../pkg/env/error-text.ts';
import { statusOf } from './findings.ts';
import type { KernelManager } from './manager.ts';
import { KernelWorld, MINUTE, SECOND } from './world.ts';

const NAMES = ['a', 'b', 'c'];
/** --leader-elect-lease-duration, --leader-elect-retry-period with its jitter. */
const LEASE: Ms = 15 * SECOND;
const LONGEST_RETRY: Ms = 2.2 * 2 * SECOND;
const HOUR: Ms = 60 * MINUTE;
/** So much of the lease must be left when a change is sent. */
const MARGIN: Ms = 2 * SECOND;

const LEASE_PATH = '/leases/capaf-leader-election';

/** When a manager sent the renewals that the API server took (the first of them makes the Lease, or takes it over). */
const renewals = (world: KernelWorld, { name }: KernelManager): readonly Ms[] =>
  world.writes
    .filter(({ from, path, method, status = 0 }) => {
      const isLease = path.includes(LEASE_PATH) || (method === 'POST' && path.endsWith('/leases'));
      return from === name && isLease && status < 300;
    })
    .map(({ at }) => at);

/** As many as IAM lets a role have, with EKS's own. */
const policies = (world: KernelWorld): readonly string[] =>
  Array.from({ length: 9 }, (_, index) => world.aws.admin.putPolicy({ name: `policy-${index}` }));

const mutationsOf = (world: KernelWorld, { accessKeyId }: KernelManager) =>
  world.aws.admin.calls({ accessKeyId, mutates: true });

/** All that a manager does but look at the Lease. */
const doingsOf = (world: KernelWorld, manager: KernelManager): number =>
  world.aws.admin.calls({ accessKeyId: manager.accessKeyId }).length +
  world.writes.filter(({ from }) => from === manager.name).length;

describe('two managers', () => {
  it('only the leader acts, and another begins as soon as it has ended in good order', async () => {
    const world = new KernelWorld();
    const leader = world.start('--leader-elect');
    await world.clock.advance(SECOND);
    const other = world.start('--leader-elect');
    world.apply('a');
    await world.ready('a');
    expect(doingsOf(world, other), 'of who does not lead').to.equal(0);
    world.delete('a');
    await world.clock.advance(5 * SECOND);
    await world.stop(leader);
    const ended = world.clock.now();
    await world.gone('a');
    expect((renewals(world, other)[0] ?? Infinity) - ended, 'it watches the lease').to.be.below(SECOND);
    await world.finish();
    expect(world.troubles()).to.deep.equal([]);
  });

  for (let seed = 1; seed <= 4; seed++)
    it(`a leader that loses the API server changes nothing in AWS after its lease (seed ${seed})`, async () => {
      const world = new KernelWorld({ seed, aws: { latencyMs: [SECOND, 4 * SECOND] } });
      // It goes on trying to renew longer than the lease lasts: only the rule before each change holds it back.
      const flags = ['--leader-elect', '--leader-elect-renew-deadline', '14s'];
      const leader = world.start(...flags);
      await world.clock.advance(SECOND);
      // Who takes over has a clock that is an hour wrong, this way or that.
      const other = world.startSkewed(seed % 2 === 0 ? HOUR : -HOUR, ...flags);
      // Half a minute of changes in AWS that need nothing of the API server in between.
      for (const name of NAMES) world.applyWith(name, { roleAdditionalPolicies: policies(world) });
      await world.until('changes', () => mutationsOf(world, leader).length > NAMES.length);
      await world.clock.advance(world.random.next() * 4 * SECOND);
      leader.kubeLine.cut();
      const cut = world.clock.now();
      await world.until('the other leads', () => renewals(world, other).length > 0, MINUTE);
      const takenOver = renewals(world, other)[0] ?? 0;
      expect(takenOver - cut, 'until somebody leads again').to.be.below(LEASE + LONGEST_RETRY + SECOND);

      await world.ready(...NAMES);
      const leaseEnd = (renewals(world, leader).at(-1) ?? 0) + LEASE;
      const sent = mutationsOf(world, leader).map(({ at }) => at);
      expect(Math.max(...sent), 'the last change').to.be.within(cut + SECOND, leaseEnd - MARGIN);
      expect(leaseEnd).to.be.below(takenOver);
      expect(errorMessage(leader.ended?.error)).to.include('the lease could not be renewed in time');

      world.delete(...NAMES);
      await world.gone(...NAMES);
      const creates = world.mutations().filter(({ operation, applied }) => operation.startsWith('Create') && applied);
      expect(creates, 'roles and profiles made').to.have.length(2 * NAMES.length);
      await world.finish();
    });

  it('a create that the end of the lease held back is not waited for by a deletion', async () => {
    const world = new KernelWorld();
    const leader = world.start('--leader-elect', '--leader-elect-renew-deadline', '14s');
    const stopListening = world.api.storage.listen(({ object }) => {
      if (statusOf(object).createRequestedAt === undefined) return;
      leader.kubeLine.cut();
      stopListening();
    });
    world.apply('a');
    await world.clock.advance(5 * SECOND);
    // The answer to the record comes when the lease is about to run out. It is renewed then: nobody else wants it.
    await world.clock.advance(8.5 * SECOND);
    leader.kubeLine.restore();
    await world.until('the end of the pass', () => leader.logger.said('Pass given up').length > 0, SECOND);
    world.delete('a');
    const deleted = world.elapsed;
    await world.gone('a');
    expect(world.elapsed - deleted, 'not the minute in which a create may still appear').to.be.below(10 * SECOND);
    expect(world.mutations().map(({ operation }) => operation)).to.not.include('CreateFargateProfile');
    expect(world.warnings(), 'it was no failure').to.deep.equal([]);
    await world.finish();
  });
});
