import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import { eventually } from '../support/eventually.ts';
import type { Contender } from '../world/contender.ts';
import { freeze, startContender } from '../world/contender.ts';
import type { LeaseHistory, LeaseVersion } from '../world/lease-history.ts';
import { changesOutsideTheLease, leaseHistoryOf } from '../world/lease-history.ts';
import type { World } from '../world/world.ts';
import { fargateProfile, startWorld } from '../world/world.ts';

const LEASE_MS = 4_000;
const FLAGS = [
  '--leader-elect-namespace',
  'default',
  '--leader-elect-lease-duration',
  `${LEASE_MS}ms`,
  '--leader-elect-renew-deadline',
  '2500ms',
  '--leader-elect-retry-period',
  '250ms',
  // Whoever leads has something to look at all the time.
  '--sync-period',
  '500ms',
];

/** As many as IAM lets a role have beside EKS's own: that many changes in a row that need nothing of the API server. */
const POLICIES = 9;

describe('two managers, of which one leads', function () {
  this.timeout(60_000);
  let world: World;
  let lease: LeaseHistory;
  /** All that ever stood for election. */
  const contenders: Contender[] = [];
  /** Who leads, and who waits for the lease. */
  let leader: Contender;
  let follower: Contender;

  before(async () => {
    world = await startWorld();
    lease = leaseHistoryOf(world);
    world.endWith(() => lease.stop());
    for (const cluster of ['prod', 'stage', 'dev']) await world.createEksCluster(cluster);
    leader = await stand('one');
    await lease.takenBy(leader.identity);
    follower = await stand('two');
  });
  after(() => world.finish());

  async function stand(name: string, flags: readonly string[] = []): Promise<Contender> {
    const contender = await startContender(world, name, [...FLAGS, ...flags]);
    contenders.push(contender);
    return contender;
  }

  /** Waits until the follower leads; gives the lease as it took it, and its predecessor's last. */
  async function succession(): Promise<{ readonly last: LeaseVersion; readonly first: LeaseVersion }> {
    const first = await lease.takenBy(follower.identity);
    const predecessor = leader;
    leader = follower;
    return { last: lease.lastOf(predecessor.identity), first };
  }

  const policies = (): readonly string[] =>
    Array.from({ length: POLICIES }, (_, index) => world.aws.admin.putPolicy({ name: `policy-${index}` }));

  /** Does something when AWS has carried out the n-th such call of the leader, and before the leader hears of it. */
  function atItsCall(operation: string, nth: number, act: () => Promise<unknown>): Promise<void> {
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

  /** How often AWS made something of these names, by whomever it was asked. */
  const timesMade = (...names: readonly string[]): readonly string[] =>
    world.aws.log
      .read({ mutates: true })
      .filter(({ applied, operation }) => applied && operation.startsWith('Create'))
      .flatMap(({ operation, nouns }) => {
        const name = nouns['fargateProfileName'] ?? nouns['RoleName'];
        return names.some((each) => name?.includes(each)) ? [`${operation} ${name}`] : [];
      })
      .toSorted();

  const madeOnce = (...names: readonly string[]): readonly string[] =>
    names.flatMap((name) => [`CreateFargateProfile default_${name}`, `CreateRole ${roleOf(name)}`]).toSorted();

  const roleOf = (name: string): string =>
    world.aws.log
      .read({ operation: 'CreateRole' })
      .map(({ nouns }) => nouns['RoleName'] ?? '')
      .find((role) => role.includes(name)) ?? `no role of ${name}`;

  it('are told apart by metrics, health and Events; the follower does nothing', async () => {
    await world.apply(fargateProfile('first'));
    await world.ready('first');
    const leads = ({ manager }: Contender): Promise<number> =>
      manager.metric('leader_election_master_status', { name: 'capaf-leader-election' });
    expect([await leads(leader), await leads(follower)]).to.deep.equal([1, 0]);
    for (const { manager } of contenders) {
      const answer = await fetch(`${manager.healthUrl}/healthz?verbose`);
      expect(await answer.text()).to.contain('[+]leaderElection ok');
    }
    expect(follower.calls()).to.deep.equal([]);
    await world.event('capaf-leader-election', `Normal LeaderElection: ${leader.identity} became leader`);
  });

  it('killed with a create and a delete under way: the other waits the lease out and carries them on', async () => {
    await world.apply(fargateProfile('leaving', { clusterName: 'stage' }));
    await world.ready('leaving');
    world.aws.admin.setConfig({ eks: { createMs: 2_000, deleteMs: 2_000 } });
    const killed = atItsCall('CreateFargateProfile', 1, () => leader.manager.stop('SIGKILL'));
    await world.delete('leaving');
    await eventually(() => world.inAws.profile('default_leaving')?.status === 'DELETING', { what: 'its deletion' });
    await world.apply(fargateProfile('arriving'));
    await killed;
    expect(world.inAws.profile('default_arriving')).to.include({ status: 'CREATING' });
    expect(world.inAws.role(roleOf('leaving')), 'it is not over').to.not.equal(undefined);

    const { last, first } = await succession();
    expect(first.acquiredAt - last.renewedAt, 'the wait').to.be.at.least(LEASE_MS);
    expect(first.transitions).to.equal(last.transitions + 1);
    await world.gone('leaving');
    await world.ready('arriving');
    expect(timesMade('leaving', 'arriving')).to.deep.equal(madeOnce('leaving', 'arriving'));
    expect(world.inAws.role(roleOf('leaving'))).to.equal(undefined);
    world.aws.admin.setConfig({ eks: { createMs: 200, deleteMs: 200 } });
  });

  it('frozen with a call in flight: when it thaws it changes nothing any more, and ends', async () => {
    follower = await stand('three');
    const frozen = atItsCall('AttachRolePolicy', 4, () => freeze(leader.manager));
    await world.apply(fargateProfile('frozen', { clusterName: 'stage', roleAdditionalPolicies: policies() }));
    await frozen;
    const since = lastSeq();
    const thawed = leader;

    await succession();
    await world.ready('frozen');
    expect(timesMade('frozen')).to.deep.equal(madeOnce('frozen'));
    // The answer to its call is waiting for it, and six policies were to follow.
    thawed.manager.kill('SIGCONT');
    const { code } = await world.managerEnded(thawed.manager);
    expect(code).to.equal(1);
    expect(thawed.manager.tail()).to.contain('"The manager ends" err="leader election lost: ');
    expect(mutations(thawed.calls(since))).to.deep.equal([]);
    await world.event('capaf-leader-election', `Normal LeaderElection: ${thawed.identity} stopped leading`);
  });

  it('frozen between two calls, and thawed where it cannot learn what has happened: it changes nothing, and ends', async () => {
    // It leads next, and is cut off then: it is to hold out almost as long as its lease, so that nothing but the rule
    // before each change keeps it from changing anything near the end.
    follower = await stand('four', ['--leader-elect-renew-deadline', '3800ms']);
    await world.apply(fargateProfile('stale', { clusterName: 'dev', additionalTags: { team: 'before' } }));
    await world.ready('stale');

    await eventually(() => leader.calls().every(({ status }) => status !== undefined), { what: 'no call under way' });
    await freeze(leader.manager);
    // From now on nothing reaches it, not even what it would only read when it thaws.
    leader.line.refuse();
    const since = lastSeq();
    const thawed = leader;
    await succession();
    await world.patch('stale', { spec: { additionalTags: { team: 'after' } } });
    await eventually(() => world.inAws.profile('default_stale')?.tags['team'] === 'after', { what: 'the other tag' });

    // For the renew deadline it has nothing but its own clock, and what it last read of the object is not so any more.
    thawed.manager.kill('SIGCONT');
    const { code } = await world.managerEnded(thawed.manager);
    expect(code).to.equal(1);
    expect(thawed.manager.tail()).to.contain(
      '"The manager ends" err="leader election lost: the lease could not be renewed in time',
    );
    // Whether it still gets round to reading AWS before it ends is up to which of its timers is the first to wake.
    expect(mutations(thawed.calls(since))).to.deep.equal([]);
    expect(world.inAws.profile('default_stale')?.tags).to.include({ team: 'after' });
  });

  it('cut off from the API server alone: it goes on for as long as nobody else can lead, then stops, then ends', async () => {
    follower = await stand('five');
    const slow = world.aws.faults.add({ kind: 'slow:600', operation: 'AttachRolePolicy' });
    const names = ['cut-a', 'cut-b', 'cut-c'];
    const roleAdditionalPolicies = policies();
    for (const [index, clusterName] of ['prod', 'stage', 'dev'].entries())
      await world.apply(fargateProfile(names[index] ?? '', { clusterName, roleAdditionalPolicies }));
    const attached = (): number => leader.calls().filter(({ operation }) => operation === 'AttachRolePolicy').length;
    await eventually(() => attached() > names.length, { what: 'changes' });

    const since = lastSeq();
    const cutOff = leader;
    cutOff.line.refuse();
    const { last, first } = await succession();
    expect(first.acquiredAt - last.renewedAt, 'the wait').to.be.at.least(LEASE_MS);
    const changes = mutations(cutOff.calls(since)).map(({ at }) => at);
    expect(changes, 'it can still reach AWS').to.have.length.above(0);
    expect(Math.max(...changes) - last.renewedAt, 'the last change, two seconds before the end').to.be.below(
      LEASE_MS - 1_000,
    );
    const { code } = await world.managerEnded(cutOff.manager);
    expect(code).to.equal(1);
    expect(cutOff.manager.tail()).to.contain('leader election lost: the lease could not be renewed in time');

    world.aws.faults.remove(slow);
    for (const name of names) await world.ready(name);
    expect(timesMade('cut-')).to.deep.equal(madeOnce(...names));
  });

  it('told to stop with a call in flight: it gives the lease up, and the other leads within two seconds', async () => {
    follower = await stand('six');
    const slow = world.aws.faults.add({ kind: 'slow:1000', operation: 'CreateFargateProfile' });
    await world.apply(fargateProfile('handed'));
    await eventually(() => world.inAws.profile('default_handed') !== undefined, { what: 'its creation' });
    const stopped = leader;
    const toldAt = Date.now();
    await world.stopManager(stopped.manager);
    const { first } = await succession();
    expect(first.acquiredAt - toldAt).to.be.at.most(2_000);
    expect(lease.versions.find(({ holder, renewedAt }) => holder === '' && renewedAt >= toldAt)).to.include({
      durationMs: 1_000,
    });
    world.aws.faults.remove(slow);
    await world.ready('handed');
    expect(timesMade('handed')).to.deep.equal(madeOnce('handed'));
    await world.event('capaf-leader-election', `Normal LeaderElection: ${stopped.identity} stopped leading`);
  });

  it('none of them ever asked AWS for a change when the lease was not its own', () => {
    const outside = contenders.flatMap(({ identity, calls }) =>
      changesOutsideTheLease(lease.versions, identity, calls()),
    );
    expect(outside).to.deep.equal([]);
    for (const { identity, calls } of contenders.slice(0, -1))
      expect(mutations(calls()), `changes of ${identity}`).to.have.length.above(0);
  });
});
