import { expect } from 'chai';
import type { CallRecord } from '../../aws/call-log.ts';
import type { FaultKind } from '../../aws/faults.ts';
import { eventually } from '../../support/eventually.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import { waitForCacheSync } from '../../world/cache-sync.ts';
import type { ProfileHistory } from '../../world/history.ts';
import { historyOf } from '../../world/history.ts';
import { conditionOf, messageOf, summaryOf, waiting } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { fargateProfile, startWorld } from '../../world/world.ts';

interface Outage {
  readonly kind: FaultKind;
  readonly words: string;
}

/**
 * An outage in which one of seven AWS calls on average ends in an error although AWS has executed the call. A reconcile with
 * several AWS calls succeeds only when none of its calls fails.
 */
const STORM = { operation: '*', kind: '500-after', chance: 1 / 7 } as const;

const SYNC_PERIOD_MS = 500;

const BEFORE_THE_EFFECT: readonly Outage[] = [
  { kind: '500-before', words: 'Internal server error' },
  { kind: 'throttle', words: 'Rate exceeded' },
  { kind: 'html-503', words: '503' },
  { kind: 'reset', words: 'ECONNRESET' },
];
const AFTER_THE_EFFECT: readonly (Outage & { readonly reason: string })[] = [
  { kind: '500-after', reason: 'AWSUnavailable', words: 'Internal server error' },
  { kind: 'reset-after', reason: 'AWSUnavailable', words: 'ECONNRESET' },
  { kind: 'garbage-after', reason: 'AWSError', words: 'HTTP 200 with a body that is not a response of AWS' },
];

describe('an AWS outage', () => {
  let world: World;
  let history: ProfileHistory;
  let silence: number;
  before(async () => {
    world = await startWorld();
    history = historyOf(world);
    await world.startManager({ flags: ['--sync-period', `${SYNC_PERIOD_MS}ms`] });
    // EKS does not answer CreateFargateProfile for the object `silent`, and the manager waits 10 s for the answer. The
    // call starts in this hook, so that the 10 s pass while other tests run. A later test checks the result.
    const where = { clusterName: eksClusterOf('silent') };
    silence = world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'no-answer-before', where });
    await applyWithCluster('silent');
    await eventually(() => world.aws.log.read().some(({ fault }) => fault === 'no-answer-before'));
  });
  after(async () => {
    await history.stop();
    await world.finish();
  });

  const eksClusterOf = (name: string): string => `default_${name}-control-plane`;

  async function applyWithCluster(name: string): Promise<void> {
    await world.createEksCluster(name);
    await world.apply(fargateProfile(name, { clusterName: name }));
  }

  it('an unanswered create does not delay another object', async () => {
    await applyWithCluster('meanwhile');
    await world.ready('meanwhile');
    expect(history.of('silent').some(({ status }) => status?.['profileStatus'] !== undefined)).to.equal(false);
    world.aws.admin.removeFault({ id: silence });
  });

  for (const { kind, words } of BEFORE_THE_EFFECT)
    it(`a failed create (${kind}) is reported with the message of AWS and retried`, async () => {
      const name = `before-${kind}`.toLowerCase();
      const where = { clusterName: eksClusterOf(name) };
      world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind, times: 1, where });
      await applyWithCluster(name);
      const object = await history.waitForCondition(name, 'Ready', { status: 'False', reason: 'AWSUnavailable' });
      expect(summaryOf(object)).to.deep.equal(waiting('AWSUnavailable'));
      expect(messageOf(object, 'Ready')).to.contain(words);
      expect(conditionOf(object, 'EKSFargateProfileReady')).to.include({ status: 'False', reason: 'AWSUnavailable' });
      await world.ready(name);
      await world.event(name, 'Warning FailedCreateEKSFargateProfile');
    });

  for (const { kind, reason, words } of AFTER_THE_EFFECT)
    it(`a create that fails after EKS carried it out (${kind}) is not repeated`, async () => {
      const name = `after-${kind}`.toLowerCase();
      const where = { clusterName: eksClusterOf(name) };
      world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind, times: 1, where });
      const calls = callsFromNow(world.aws);
      await applyWithCluster(name);
      const object = await history.waitForCondition(name, 'Ready', { status: 'False', reason });
      expect(messageOf(object, 'Ready')).to.contain(words);
      await world.ready(name);
      await world.event(name, 'Normal SuccessfulCreateEKSFargateProfile');
      const creates = calls.about(`default_${name}`).filter(({ operation }) => operation === 'CreateFargateProfile');
      expect(creates.map(({ applied }) => applied)).to.deep.equal([true]);
    });

  it('a role create that fails after IAM carried it out (500) is not repeated', async () => {
    const name = 'role-after';
    const RoleName = `${name}-default_${name}_fargate`;
    world.aws.admin.addFault({ operation: 'CreateRole', kind: '500-after', times: 1, where: { RoleName } });
    const calls = callsFromNow(world.aws);
    await applyWithCluster(name);
    const object = await history.waitForCondition(name, 'Ready', { status: 'False', reason: 'AWSUnavailable' });
    expect(conditionOf(object, 'IAMFargateRolesReady')).to.include({ status: 'False', reason: 'AWSUnavailable' });
    await world.ready(name);
    const creates = calls.about(RoleName).filter(({ operation }) => operation === 'CreateRole');
    expect(creates.map(({ applied }) => applied)).to.deep.equal([true]);
  });

  it('a deletion that fails after it began (500) completes', async () => {
    const name = 'delete-after';
    await applyWithCluster(name);
    await world.ready(name);
    const where = { clusterName: eksClusterOf(name) };
    world.aws.admin.addFault({ operation: 'DeleteFargateProfile', kind: '500-after', times: 1, where });
    await world.delete(name);
    const object = await history.waitForCondition(name, 'Deleting', { status: 'True', reason: 'AWSUnavailable' });
    expect(summaryOf(object)).to.deep.equal({ ...waiting('AWSUnavailable'), Ready: 'False Deleting' });
    await world.gone(name);
    expect(world.awsView.profile(`default_${name}`)).to.equal(undefined);
  });

  it('failed resyncs of a Ready object write nothing, keep it Ready, and are no more frequent than other resyncs', async () => {
    const name = 'believed';
    await applyWithCluster(name);
    await world.ready(name);
    // The test waits until the manager has handled the watch events of all earlier changes. From then on, only resyncs
    // trigger reconciles of the AWSFargateProfile.
    await waitForCacheSync(world);
    const versions = history.of(name).length;
    const where = { clusterName: eksClusterOf(name) };
    const calls = callsFromNow(world.aws);
    world.aws.admin.addFault({ operation: 'DescribeFargateProfile', kind: '500-before', where });
    const about = (): readonly CallRecord[] => [
      ...calls.about(`default_${name}`),
      ...calls.about(`${name}-default_${name}_fargate`),
    ];
    const countCallsWithStatus = (status: number): number =>
      calls.about(`default_${name}`).filter((call) => call.status === status).length;
    await eventually(() => countCallsWithStatus(500) >= 4, { what: 'four failed looks at AWS' });
    const failed = calls.about(`default_${name}`).filter((call) => call.status === 500);
    world.aws.admin.clearFaults();
    const answered = countCallsWithStatus(200);
    await eventually(() => countCallsWithStatus(200) > answered, { what: 'a look that succeeds' });
    for (const [index, { at }] of failed.slice(1).entries())
      expect(at - (failed[index]?.at ?? at), 'the time between two resyncs').to.be.at.least(SYNC_PERIOD_MS / 2);
    expect(about().filter(({ mutates }) => mutates)).to.deep.equal([]);
    expect(history.of(name)).to.have.length(versions);
  });

  it('an unanswered create is reported after its deadline of 10 s and retried', async () => {
    const object = await history.waitForCondition('silent', 'Ready', { status: 'False', reason: 'AWSUnavailable' });
    expect(messageOf(object, 'Ready')).to.contain('no answer within 10 s');
    await world.ready('silent');
    await world.event('silent', 'no answer within 10 s');
  });

  it('all profiles are created and deleted although one of seven calls fails', async () => {
    const names = ['storm-a', 'storm-b', 'storm-c'];
    world.aws.admin.addFault(STORM);
    await Promise.all(names.map(applyWithCluster));
    await Promise.all(names.map((name) => world.ready(name)));
    await Promise.all(names.map((name) => world.delete(name)));
    await Promise.all(names.map((name) => world.gone(name)));
    world.aws.admin.clearFaults();
    expect(names.filter((name) => world.awsView.profile(`default_${name}`) !== undefined)).to.deep.equal([]);
    expect(names.filter((name) => world.awsView.role(`${name}-default_${name}_fargate`) !== undefined)).to.deep.equal(
      [],
    );
  });
});
