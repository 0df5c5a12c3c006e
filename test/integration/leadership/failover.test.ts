import { expect } from 'chai';
import type { CallRecord } from '../../aws/call-log.ts';
import { eventually } from '../../support/eventually.ts';
import { type Candidate, suspendManager, startCandidate } from '../../world/manager/candidate.ts';
import { HELD_MS } from '../../world/aws/operations.ts';
import type { LeaseHistory, LeaseVersion } from '../../world/manager/lease-history.ts';
import { mutationsOutsideLease, leaseHistoryOf } from '../../world/manager/lease-history.ts';
import { fargateProfile, useWorld } from '../../world/world.ts';

/** The lease duration. It is long enough that a manager on a busy machine renews the Lease in time. */
const LEASE_MS = 10_000;
/** The namespace of the manager. The Lease and the Events about the Lease are in it, too. */
const OF_MANAGER = { namespace: 'capaf-system' };
const FLAGS = [
  '--leader-elect-lease-duration',
  `${LEASE_MS}ms`,
  '--leader-elect-renew-deadline',
  '7s',
  '--leader-elect-retry-period',
  '250ms',
  // With a sync period of 500 ms, the leader calls AWS continuously.
  '--sync-period',
  '500ms',
];

/**
 * The number of policies that the manager attaches to a role besides the policy for pod execution roles. IAM allows ten
 * policies for a role. The manager attaches them in a series of AWS calls, without requests to the API server between
 * them.
 */
const POLICIES = 9;

describe('leader election of two managers', () => {
  const world = useWorld();
  let lease: LeaseHistory;
  /** All managers that the tests of this file have started. */
  const contenders: Candidate[] = [];
  /** `leader` holds the Lease, and `follower` waits for the Lease. */
  let leader: Candidate;
  let follower: Candidate;

  before(async () => {
    lease = leaseHistoryOf(world);
    world.addCleanup(() => lease.stop());
    for (const cluster of ['prod', 'stage']) await world.createEksCluster(cluster);
    leader = await addContender('one');
    await lease.waitForHolder(leader.identity);
    follower = await addContender('two');
  });

  async function addContender(name: string): Promise<Candidate> {
    const contender = await startCandidate(world, name, FLAGS);
    contenders.push(contender);
    return contender;
  }

  /**
   * Waits until `follower` holds the Lease. Returns the last version of the Lease with the old leader as its holder,
   * and the first version with the new leader.
   */
  async function waitForSuccession(): Promise<{ readonly last: LeaseVersion; readonly first: LeaseVersion }> {
    const first = await lease.waitForHolder(follower.identity);
    const predecessor = leader;
    leader = follower;
    return { last: lease.lastOf(predecessor.identity), first };
  }

  const policies = (): readonly string[] =>
    Array.from({ length: POLICIES }, (_, index) => world.aws.admin.putPolicy({ name: `policy-${index}` }));

  /**
   * Calls `act` when AWS has executed the nth call of `operation` by the leader. The leader gets the answer to this AWS
   * call only after `act` has finished.
   */
  function afterCallOfLeader(operation: string, nth: number, act: () => Promise<unknown>): Promise<void> {
    const { accessKeyId } = leader;
    let seen = 0;
    return new Promise((resolve, reject) => {
      const forget = world.aws.onCall(async (call, phase) => {
        if (call.operation !== operation || call.accessKeyId !== accessKeyId || phase !== 'after') return;
        seen += 1;
        if (seen !== nth) return;
        forget();
        await act().then(() => resolve(), reject);
      });
    });
  }

  const lastSeq = (): number => world.aws.log.read().at(-1)?.seq ?? 0;

  const mutations = (calls: readonly CallRecord[]): readonly CallRecord[] => calls.filter(({ mutates }) => mutates);

  /**
   * The successful CreateFargateProfile and CreateRole calls of all managers for the given names, in alphabetical
   * order.
   */
  const createsOf = (...names: readonly string[]): readonly string[] =>
    world.aws.log
      .read({ mutates: true })
      .filter(({ applied, operation }) => applied && operation.startsWith('Create'))
      .flatMap(({ operation, identifiers }) => {
        const name = identifiers['fargateProfileName'] ?? identifiers['RoleName'];
        return names.some((each) => name?.includes(each)) ? [`${operation} ${name}`] : [];
      })
      .toSorted();

  const oneCreateEach = (...names: readonly string[]): readonly string[] =>
    names.flatMap((name) => [`CreateFargateProfile default_${name}`, `CreateRole ${roleOf(name)}`]).toSorted();

  const roleOf = (name: string): string =>
    world.aws.log
      .read({ operation: 'CreateRole' })
      .map(({ identifiers }) => identifiers['RoleName'] ?? '')
      .find((role) => role.includes(name)) ?? `no role of ${name}`;

  it('after the leader is killed during a create and a delete: the follower waits for the lease to expire and completes both', async () => {
    await world.apply(fargateProfile('leaving', { clusterName: 'stage' }));
    await world.ready('leaving');
    world.aws.admin.setConfig({ eks: { createMs: HELD_MS, deleteMs: HELD_MS } });
    const killed = afterCallOfLeader('CreateFargateProfile', 1, () => leader.manager.stop('SIGKILL'));
    await world.delete('leaving');
    await eventually(() => world.awsView.profile('default_leaving')?.status === 'DELETING', { what: 'its deletion' });
    await world.apply(fargateProfile('arriving'));
    await killed;
    expect(world.awsView.profile('default_arriving')).to.include({ status: 'CREATING' });

    const { last, first } = await waitForSuccession();
    expect(first.acquiredAt - last.renewedAt, 'the wait').to.be.at.least(LEASE_MS);
    expect(first.transitions).to.equal(last.transitions + 1);
    expect(world.awsView.role(roleOf('leaving'))).to.not.equal(undefined);
    world.aws.admin.setProfile({ cluster: 'default_prod-control-plane', name: 'default_arriving', status: 'ACTIVE' });
    world.aws.admin.removeProfile({ cluster: 'default_stage-control-plane', name: 'default_leaving' });
    await world.gone('leaving');
    await world.ready('arriving');
    expect(createsOf('leaving', 'arriving')).to.deep.equal(oneCreateEach('leaving', 'arriving'));
    expect(world.awsView.role(roleOf('leaving'))).to.equal(undefined);
    world.aws.admin.setConfig({ eks: { createMs: 200, deleteMs: 200 } });
  });

  it('after the leader is frozen during a call: once thawed, it changes nothing and exits', async () => {
    follower = await addContender('three');
    const frozen = afterCallOfLeader('AttachRolePolicy', 4, () => suspendManager(leader.manager));
    await world.apply(fargateProfile('frozen', { clusterName: 'stage', roleAdditionalPolicies: policies() }));
    await frozen;
    const since = lastSeq();
    const thawed = leader;

    await waitForSuccession();
    await world.ready('frozen');
    expect(createsOf('frozen')).to.deep.equal(oneCreateEach('frozen'));
    // The old leader was suspended while it waited for the answer to an AttachRolePolicy call, and still had to attach
    // six policies. After SIGCONT it must not attach them.
    thawed.manager.kill('SIGCONT');
    const { code } = await world.waitForManagerExit(thawed.manager);
    expect(code).to.equal(1);
    expect(thawed.manager.tail()).to.contain('"Manager failed" err="leader election lost: ');
    expect(mutations(thawed.calls(since))).to.deep.equal([]);
    await world.event('capaf-leader-election', `Normal LeaderElection: ${thawed.identity} stopped leading`, OF_MANAGER);
  });

  it('after the leader is stopped during a call: it releases the lease, and the follower completes the create', async () => {
    follower = await addContender('four');
    const slow = world.aws.faults.add({ kind: 'slow:1000', operation: 'CreateFargateProfile' });
    await world.apply(fargateProfile('handed'));
    await eventually(() => world.awsView.profile('default_handed') !== undefined, { what: 'its creation' });
    const stopped = leader;
    const toldAt = Date.now();
    await world.stopManager(stopped.manager);
    await waitForSuccession();
    expect(lease.versions.find(({ holder, renewedAt }) => holder === '' && renewedAt >= toldAt)).to.include({
      durationMs: 1_000,
    });
    world.aws.faults.remove(slow);
    await world.ready('handed');
    expect(createsOf('handed')).to.deep.equal(oneCreateEach('handed'));
    await world.event(
      'capaf-leader-election',
      `Normal LeaderElection: ${stopped.identity} stopped leading`,
      OF_MANAGER,
    );
  });

  it('lets no manager make a mutating call outside its lease', () => {
    const outside = contenders.flatMap(({ identity, calls }) =>
      mutationsOutsideLease(lease.versions, identity, calls()),
    );
    expect(outside).to.deep.equal([]);
    for (const { identity, calls } of contenders.slice(0, -1))
      expect(mutations(calls()), `changes of ${identity}`).to.have.length.above(0);
  });
});
