import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import type { FaultKind } from '../aws/faults.ts';
import { eventually } from '../support/eventually.ts';
import { callsFromNow } from '../world/calls.ts';
import { caughtUp } from '../world/caught-up.ts';
import { comparisonsIn } from '../world/comparisons.ts';
import type { History } from '../world/history.ts';
import { historyOf } from '../world/history.ts';
import { conditionOf, messageOf, standing, waiting } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { fargateProfile, startWorld } from '../world/world.ts';

interface Outage {
  readonly kind: FaultKind;
  readonly words: string;
}

/** Looks at AWS that fail only now and then: a pass needs several calls, and all of them must go well. */
const STORM = { operation: '*', kind: '500-after', every: 7 } as const;

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
  { kind: 'garbage-after', reason: 'AWSError', words: 'HTTP 200 with a body that is no answer of AWS' },
];

describe('AWS out of order', () => {
  let world: World;
  let history: History;
  before(async () => {
    world = await startWorld();
    history = historyOf(world);
    await world.startManager({ flags: ['--sync-period', `${SYNC_PERIOD_MS}ms`] });
    // What takes ten seconds is begun first, and looked after last.
    const where = { clusterName: eksClusterOf('silent') };
    world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind: 'no-answer-before', times: 1, where });
    await start('silent');
    await eventually(() => world.aws.log.read().some(({ fault }) => fault === 'no-answer-before'));
  });
  after(async () => {
    await history.stop();
    await world.finish();
  });

  const eksClusterOf = (name: string): string => `default_${name}-control-plane`;

  async function start(name: string): Promise<void> {
    await world.createEksCluster(name);
    await world.apply(fargateProfile(name, { clusterName: name }));
  }

  it('with an answer that does not come yet: another object gets what it wants meanwhile', async () => {
    await start('meanwhile');
    await world.ready('meanwhile', { timeoutMs: 8_000 });
    expect(history.of('silent').some(({ status }) => status?.['profileStatus'] !== undefined)).to.equal(false);
  });

  for (const { kind, words } of BEFORE_THE_EFFECT)
    it(`at a create (${kind}): a wait that tells AWS’ words, then the profile`, async () => {
      const name = `before-${kind}`.toLowerCase();
      const where = { clusterName: eksClusterOf(name) };
      world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind, times: 1, where });
      await start(name);
      const object = await history.had(name, 'Ready', { status: 'False', reason: 'AWSUnavailable' });
      expect(standing(object)).to.deep.equal(waiting('AWSUnavailable'));
      expect(messageOf(object, 'Ready')).to.contain(words);
      expect(conditionOf(object, 'EKSFargateProfileReady')).to.include({ status: 'False', reason: 'AWSUnavailable' });
      await world.ready(name);
      await world.event(name, 'Warning FailedCreateEKSFargateProfile');
    });

  for (const { kind, reason, words } of AFTER_THE_EFFECT)
    it(`at a create that EKS carried out (${kind}): it is found, and not made twice`, async () => {
      const name = `after-${kind}`.toLowerCase();
      const where = { clusterName: eksClusterOf(name) };
      world.aws.admin.addFault({ operation: 'CreateFargateProfile', kind, times: 1, where });
      const calls = callsFromNow(world.aws);
      await start(name);
      const object = await history.had(name, 'Ready', { status: 'False', reason });
      expect(messageOf(object, 'Ready')).to.contain(words);
      await world.ready(name);
      await world.event(name, 'Normal SuccessfulCreateEKSFargateProfile');
      const creates = calls.about(`default_${name}`).filter(({ operation }) => operation === 'CreateFargateProfile');
      expect(creates.map(({ applied }) => applied)).to.deep.equal([true]);
    });

  it('at the role (500 after it was made): it is found, and not made twice', async () => {
    const name = 'role-after';
    const RoleName = `${name}-default_${name}_fargate`;
    world.aws.admin.addFault({ operation: 'CreateRole', kind: '500-after', times: 1, where: { RoleName } });
    const calls = callsFromNow(world.aws);
    await start(name);
    const object = await history.had(name, 'Ready', { status: 'False', reason: 'AWSUnavailable' });
    expect(conditionOf(object, 'IAMFargateRolesReady')).to.include({ status: 'False', reason: 'AWSUnavailable' });
    await world.ready(name);
    const creates = calls.about(RoleName).filter(({ operation }) => operation === 'CreateRole');
    expect(creates.map(({ applied }) => applied)).to.deep.equal([true]);
  });

  it('at a deletion (500 after it began): goes on without a trace', async () => {
    const name = 'delete-after';
    await start(name);
    await world.ready(name);
    const where = { clusterName: eksClusterOf(name) };
    world.aws.admin.addFault({ operation: 'DeleteFargateProfile', kind: '500-after', times: 1, where });
    await world.delete(name);
    const object = await history.had(name, 'Deleting', { status: 'True', reason: 'AWSUnavailable' });
    expect(standing(object)).to.deep.equal({ ...waiting('AWSUnavailable'), Ready: 'False Deleting' });
    await world.gone(name);
    expect(world.inAws.profile(`default_${name}`)).to.equal(undefined);
  });

  it('while Ready: it is believed to be so, nothing is written, and AWS is asked no more often than before', async () => {
    const name = 'believed';
    await start(name);
    await world.ready(name);
    // Whoever knows everything looks when its time has come, and not at news.
    await caughtUp(world);
    const versions = history.of(name).length;
    const where = { clusterName: eksClusterOf(name) };
    const calls = callsFromNow(world.aws);
    world.aws.admin.addFault({ operation: 'DescribeFargateProfile', kind: '500-before', where });
    const about = (): readonly CallRecord[] => [
      ...calls.about(`default_${name}`),
      ...calls.about(`${name}-default_${name}_fargate`),
    ];
    const looks = (status: number): number =>
      calls.about(`default_${name}`).filter((call) => call.status === status).length;
    await eventually(() => looks(500) >= 4, { what: 'four failed looks at AWS' });
    const meanwhile = about();
    world.aws.admin.clearFaults();
    const answered = looks(200);
    await eventually(() => looks(200) > answered, { what: 'a look that succeeds' });
    // The profile and its role are looked at side by side: each once, however the other look ends.
    expect(comparisonsIn(meanwhile, SYNC_PERIOD_MS)).to.have.length.of.at.least(3);
    expect(about().filter(({ mutates }) => mutates)).to.deep.equal([]);
    expect(history.of(name)).to.have.length(versions);
  });

  it('with an answer that never comes: costs seconds, and nobody else anything', async () => {
    const object = await history.had('silent', 'Ready', { status: 'False', reason: 'AWSUnavailable' });
    expect(messageOf(object, 'Ready')).to.contain('no answer within 10 s');
    await world.ready('silent');
    await world.event('silent', 'no answer within 10 s');
  });

  it('for everybody, with every seventh call failing: all get there, and leave nothing behind', async () => {
    const names = ['storm-a', 'storm-b', 'storm-c'];
    world.aws.admin.addFault(STORM);
    await Promise.all(names.map(start));
    await Promise.all(names.map((name) => world.ready(name, { timeoutMs: 60_000 })));
    await Promise.all(names.map((name) => world.delete(name)));
    await Promise.all(names.map((name) => world.gone(name, { timeoutMs: 60_000 })));
    world.aws.admin.clearFaults();
    expect(names.filter((name) => world.inAws.profile(`default_${name}`) !== undefined)).to.deep.equal([]);
    expect(names.filter((name) => world.inAws.role(`${name}-default_${name}_fargate`) !== undefined)).to.deep.equal([]);
  });
});
