import { expect } from 'chai';
import type { Ms } from 'controller-runtime/env';
import { PLURAL } from '../../api/v1beta2/index.ts';
import type { CallRecord } from '../aws/call-log.ts';
import type { ConfigPatch } from '../aws/model/config.ts';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';
import { acceptRequests } from './phases/phase.ts';
import { statusOf } from './world/problems.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { CLUSTER, EKS_CLUSTER, HOUR, MINUTE, SECOND } from './world/cluster.ts';

const ISSUE = {
  code: 'PodExecutionRoleAlreadyInUse',
  message: 'The role is used by a node group',
  resourceIds: ['ng-1'],
};
const WORDS = 'PodExecutionRoleAlreadyInUse: The role is used by a node group (resources: ng-1)';

const callsOf = (world: SimulatedWorld, operation: string): readonly CallRecord[] =>
  world.aws.admin.calls().filter((call) => call.operation === operation);

/**
 * Returns the history of one condition of an AWSFargateProfile, as `<status> <reason>`. The list grows with each
 * change.
 */
function recordCondition(world: SimulatedWorld, name: string, type: string): readonly string[] {
  const history: string[] = [];
  world.api.storage.listen(() => {
    const { status, reason = '' } = world.condition(name, type) ?? {};
    const entry = `${status} ${reason}`;
    if (status !== undefined && entry !== history.at(-1)) history.push(entry);
  });
  return history;
}

/**
 * Returns the pauses between the manager's attempts at an AWS operation: the time from the end of each attempt to the
 * beginning of the next one.
 */
const pauses = (ends: readonly Ms[], begins: readonly Ms[]): readonly Ms[] =>
  ends.flatMap((end) => {
    const next = begins.find((begin) => begin > end);
    return next === undefined ? [] : [next - end];
  });

/**
 * Expects each pause between two attempts of the manager to last the expected backoff. A pause may be a tenth longer
 * because of jitter. It may also be 15 s longer, because the manager learns only from its next poll of AWS that an
 * attempt has failed.
 */
function expectPauses(found: readonly Ms[], expected: readonly Ms[]): void {
  expect(found.length, `${found.join()} ms`).to.be.at.least(expected.length);
  for (const [index, span] of expected.entries()) {
    expect(found[index], `pause ${index} of ${found.join()} ms`).to.be.within(span, 1.1 * span + 15 * SECOND);
  }
}

const BACKOFF = [10, 20, 40, 80, 160, 320, 600, 600, 600].map((seconds) => seconds * SECOND);

describe('a failure that lasts', () => {
  it('a create that ends in CREATE_FAILED is repeated with growing backoff, and Stalled stays True', async () => {
    const world = new SimulatedWorld({ aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } });
    const stalled = recordCondition(world, 'a', 'Stalled');
    world.aws.admin.planFailure({ operation: 'create', issues: [ISSUE] });
    world.start();
    world.apply('a');
    await world.until('the fifth try', () => callsOf(world, 'CreateFargateProfile').length === 6, HOUR);
    await world.until('the end of it', () => world.condition('a')?.reason === 'CreateFailed', HOUR);
    expect(world.condition('a', 'Stalled')).to.deep.include({ status: 'True', reason: 'CreateFailed' });
    expect(world.condition('a', 'Stalled')?.message)
      .to.contain(WORDS)
      .and.to.contain('Fix the problem that EKS reports');
    expect(world.condition('a', 'Reconciling')?.status, 'Reconciling while Stalled').to.equal('False');
    await world.clock.advance(2 * HOUR);

    const failed = callsOf(world, 'CreateFargateProfile').map(({ at }) => at + MINUTE);
    const deleted = callsOf(world, 'DeleteFargateProfile').map(({ at }) => at);
    expectPauses(pauses(failed, deleted), BACKOFF);
    expect(stalled, 'no flapping').to.deep.equal(['False NotStalled', 'True CreateFailed']);
    expect(callsOf(world, 'CreateRole'), 'the role is kept').to.have.length(1);
    expect(world.warnings().join('\n')).to.contain(WORDS);

    world.aws.admin.clearPlannedFailures();
    await world.ready('a');
    expect(stalled.at(-1)).to.equal('False NotStalled');
    expect(world.profile('a')?.['status']).not.to.have.property('health');
    await world.deleteAndFinish('a');
  });

  it('a create that failed does not block the other objects of its cluster until its next attempt', async () => {
    const world = new SimulatedWorld({ aws: { eks: { createMs: 4 * SECOND, deleteMs: 4 * SECOND } } });
    world.aws.admin.planFailure({ operation: 'create', issues: [ISSUE] });
    world.start();
    world.apply('a');
    await world.until('the create of a', () => callsOf(world, 'CreateFargateProfile').length === 1);
    world.apply('b', 'c');
    await world.until('the failure of a', () => world.condition('a')?.reason === 'CreateFailed');
    world.aws.admin.clearPlannedFailures();
    await world.ready('b', 'c');
    expect(
      callsOf(world, 'CreateFargateProfile').map(({ identifiers }) => identifiers['fargateProfileName']),
    ).to.deep.equal(['default_a', 'default_b', 'default_c']);
    expect(callsOf(world, 'DeleteFargateProfile')).to.deep.equal([]);
    await world.ready('a');
    await world.deleteAndFinish('a', 'b', 'c');
  });

  it('a create that failed is repeated by the next manager if the first one is killed', async () => {
    const world = new SimulatedWorld();
    world.aws.admin.planFailure({ operation: 'create', times: 1, issues: [ISSUE] });
    const manager = world.start();
    world.apply('a');
    await world.until('the failure', () => world.condition('a')?.reason === 'CreateFailed');
    manager.kill();
    world.start();
    await world.ready('a');
    expect(world.eksChanges()).to.deep.equal(['Create default_a', 'Delete default_a', 'Create default_a']);
    await world.deleteAndFinish('a');
  });

  for (const [what, spec] of [
    ['of the profile', { selectors: [{ namespace: 'other' }] }],
    ['of the role alone', { rolePath: '/other/' }],
    ['of a tag alone', { additionalTags: { team: 'b' } }],
  ] as const)
    it(`a changed spec ends the backoff: ${what}`, async () => {
      const world = new SimulatedWorld({ aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } });
      world.aws.admin.planFailure({ operation: 'create', issues: [ISSUE] });
      world.start();
      world.apply('a');
      await world.until('many tries', () => world.condition('a', 'Stalled')?.status === 'True', 2 * HOUR);
      await world.clock.advance(30 * SECOND);
      expect(world.condition('a')?.reason).to.equal('CreateFailed');
      world.aws.admin.clearPlannedFailures();
      const before = callsOf(world, 'DeleteFargateProfile').length;
      world.triggerReconcile('a');
      await world.clock.advance(20 * SECOND);
      expect(callsOf(world, 'DeleteFargateProfile'), 'a reconcile alone does not end the backoff').to.have.length(
        before,
      );
      world.patch(PLURAL, 'a', { spec });
      await world.clock.advance(2 * SECOND);
      expect(callsOf(world, 'DeleteFargateProfile')).to.have.length(before + 1);
      expect(world.condition('a', 'Stalled')?.status).to.equal('False');
      await world.ready('a');
      await world.deleteAndFinish('a');
    });

  it('a delete that ends in DELETE_FAILED is repeated with growing backoff, and the role stays', async () => {
    const world = new SimulatedWorld({ aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } });
    world.aws.admin.planFailure({ operation: 'delete', issues: [{ ...ISSUE, code: 'InternalFailure' }] });
    await world.startWithReady('a');
    const stalled = recordCondition(world, 'a', 'Stalled');
    world.delete('a');
    await world.clock.advance(3 * HOUR);
    const begun = callsOf(world, 'DeleteFargateProfile').map(({ at }) => at);
    const failed = begun.map((at) => at + MINUTE);
    expectPauses(pauses(failed, begun), BACKOFF);
    expect(stalled).to.deep.equal(['False NotStalled', 'True DeleteFailed']);
    expect(world.condition('a', 'Deleting')?.message)
      .to.contain('InternalFailure: The role is used by a node group (resources: ng-1)')
      .and.to.contain('If this keeps happening, ask AWS Support');
    expect(world.profile('a')?.metadata.finalizers).to.have.length(1);
    expect(callsOf(world, 'DeleteRole')).to.deep.equal([]);
    world.aws.admin.clearPlannedFailures();
    await world.gone('a');
    await world.finish();
  });

  it('an unknown AWS error is retried slowly, sets Stalled after two minutes, and clears when it ends', async () => {
    const world = new SimulatedWorld();
    const id = world.aws.admin.addFault({
      operation: 'CreateFargateProfile',
      kind: 'error:PhaseOfTheMoonException:The moon is full.',
    });
    world.start();
    world.apply('a');
    await world.until('the error', () => world.condition('a')?.reason === 'AWSError');
    expect(world.condition('a')?.message).to.equal(
      "AWS returns an error for a request from the controller. If this lasts longer than ten minutes, check the manager's log at verbosity --v=4, or ask AWS Support. The controller keeps retrying. AWS says: The moon is full. (EKS CreateFargateProfile: PhaseOfTheMoonException).",
    );
    expect(world.condition('a', 'Stalled')?.status).to.equal('False');
    await world.until('Stalled is True', () => world.condition('a', 'Stalled')?.status === 'True');
    expect(world.elapsed).to.be.within(2 * MINUTE, 5 * MINUTE);
    const tries = callsOf(world, 'CreateFargateProfile').length;
    expect(tries).to.be.within(4, 8);
    for (let look = 0; look < 5; look++) {
      world.triggerReconcile('a');
      await world.clock.advance(2 * SECOND);
    }
    expect(callsOf(world, 'CreateFargateProfile').length - tries, 'attempts caused by passes').to.be.at.most(1);
    const before = callsOf(world, 'CreateFargateProfile').length;
    await world.clock.advance(2 * HOUR);
    expect(callsOf(world, 'CreateFargateProfile').length - before).to.be.within(20, 30);
    world.aws.admin.removeFault({ id });
    const mended = world.elapsed;
    await world.ready('a');
    expect(world.elapsed - mended).to.be.below(10 * MINUTE);
    await world.deleteAndFinish('a');
  });
});

describe('an API server that does not answer some requests for half an hour', () => {
  it('delays a deletion by at most two minutes more', async () => {
    const world = new SimulatedWorld();
    await world.startWithReady('a');
    world.api.intercept = ({ method, path }) =>
      method === 'GET' && path.endsWith(`/clusters/${CLUSTER}`) ? new Error('read ETIMEDOUT') : undefined;
    world.delete('a');
    await world.clock.advance(30 * MINUTE);
    expect(world.eksProfile('a')?.status).to.equal('ACTIVE');
    acceptRequests(world);
    await world.until('the deletion', () => world.eksProfile('a')?.status !== 'ACTIVE', 2 * MINUTE);
    await world.gone('a');
    await world.finish();
  });
});

describe('a role whose trust policy EKS does not accept', () => {
  for (const seconds of [10, 60])
    it(`for ${seconds} s while IAM propagates it: the profile waits without a Warning`, async () => {
      const world = new SimulatedWorld({
        aws: { eks: { createMs: MINUTE, deleteMs: MINUTE }, iam: { trustVisibleToEksMs: seconds * SECOND } },
      });
      const stalled = recordCondition(world, 'a', 'Stalled');
      const ready = recordCondition(world, 'a', 'Ready');
      world.start();
      world.apply('a');
      await world.until('EKS accepts the create', () => world.condition('a')?.reason === 'Creating');
      expect(world.elapsed, 'soon after EKS sees the trust policy').to.be.within(
        seconds * SECOND,
        1.3 * seconds * SECOND + 3 * SECOND,
      );
      await world.ready('a');
      expect(ready).to.deep.equal(['False Propagating', 'False Creating', 'True Ready']);
      expect(stalled).to.deep.equal(['False NotStalled']);
      expect(world.warnings()).to.deep.equal([]);
      expect(callsOf(world, 'CreateFargateProfile').length, 'tries').to.be.at.most(30);
      await world.deleteAndFinish('a');
    });

  it('permanently: the profile waits two minutes, then sets Stalled and retries slowly', async () => {
    const world = new SimulatedWorld({ aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } });
    const words =
      'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal';
    const id = world.aws.admin.addFault({
      operation: 'CreateFargateProfile',
      kind: `error:InvalidParameterException:${words}`,
    });
    const ready = recordCondition(world, 'a', 'Ready');
    world.start();
    world.apply('a');
    await world.until('Stalled is True', () => world.condition('a', 'Stalled')?.status === 'True');
    expect(world.elapsed).to.be.within(2 * MINUTE, 2.5 * MINUTE);
    expect(ready).to.deep.equal(['False Propagating', 'False RoleTrustInvalid']);
    expect(world.condition('a')?.message).to.contain('"prod-default_a_fargate"').and.to.contain(words);
    const before = callsOf(world, 'CreateFargateProfile').length;
    await world.clock.advance(2 * HOUR);
    expect(callsOf(world, 'CreateFargateProfile').length - before).to.be.within(10, 20);
    expect(ready, 'no flapping').to.deep.equal(['False Propagating', 'False RoleTrustInvalid']);
    world.aws.admin.removeFault({ id });
    await world.ready('a');
    await world.deleteAndFinish('a');
  });
});

describe('a profile over the quota', () => {
  it('retries slowly, takes the place of a deleted sibling at once, and of a foreign profile within minutes', async () => {
    const world = new SimulatedWorld({
      aws: { eks: { maxProfilesPerCluster: 2, createMs: MINUTE, deleteMs: MINUTE } },
    });
    world.aws.admin.putProfile({
      cluster: EKS_CLUSTER,
      name: 'theirs',
      podExecutionRoleArn: 'arn:aws:iam::123456789012:role/theirs',
    });
    await world.startWithReady('a');
    world.apply('b', 'c');
    const isWaiting = (name: string): boolean => world.condition(name)?.reason === 'QuotaExceeded';
    await world.until('both wait', () => isWaiting('b') && isWaiting('c'));
    expect(world.condition('b', 'Reconciling')?.status).to.equal('True');
    expect(world.condition('b')?.message).to.contain('Fargate Profile limit exceeded for cluster.');
    const before = callsOf(world, 'CreateFargateProfile').length;
    await world.clock.advance(2 * HOUR);
    expect(
      callsOf(world, 'CreateFargateProfile').length - before,
      'attempts of two profiles in two hours',
    ).to.be.within(40, 64);

    world.delete('a');
    await world.gone('a');
    const left = world.elapsed;
    await world.until('one of them', () => ['b', 'c'].some((name) => world.condition(name)?.reason === 'Creating'));
    expect(world.elapsed - left, 'after the deletion of the sibling').to.be.below(2 * SECOND);
    await world.until('its end', () => world.isReady('b') || world.isReady('c'));
    world.aws.admin.removeProfile({ cluster: EKS_CLUSTER, name: 'theirs' });
    const freed = world.elapsed;
    await world.ready('b', 'c');
    expect(world.elapsed - freed).to.be.below(8 * MINUTE);
    await world.deleteAndFinish('b', 'c');
  });
});

describe('an update of the EKS cluster', () => {
  for (const [words, span, most] of [
    ['half a minute', 30 * SECOND, 4],
    ['ten minutes', 10 * MINUTE, 50],
  ] as const)
    it(`of ${words} makes five new profiles wait, of which only one retries`, async () => {
      const names = ['a', 'b', 'c', 'd', 'e'];
      const world = new SimulatedWorld({ aws: { eks: { createMs: MINUTE, deleteMs: MINUTE } } });
      world.aws.admin.setCluster({ name: EKS_CLUSTER, updateInProgressMs: span });
      const histories = names.map((name) => recordCondition(world, name, 'Stalled'));
      world.start();
      world.apply(...names);
      await world.until('all profiles wait', () =>
        names.every((name) => world.condition(name)?.reason === 'ClusterUpdating'),
      );
      await world.until('the first', () => names.some((name) => world.condition(name)?.reason === 'Creating'), HOUR);
      expect(world.elapsed - span, 'soon after the end of the update').to.be.below(20 * SECOND);
      expect(callsOf(world, 'CreateFargateProfile').length, 'tries').to.be.at.most(most);
      await world.ready(...names);
      expect(histories).to.deep.equal(names.map(() => ['False NotStalled']));
      expect(world.warnings()).to.deep.equal([]);
      await world.deleteAndFinish(...names);
    });
});

describe('inconsistent answers of IAM about a role', () => {
  const NOT_SEEN = 'error:NoSuchEntity:The role with name prod-default_a_fargate cannot be found.';

  for (const operation of ['ListAttachedRolePolicies', 'ListRolePolicies', 'ListInstanceProfilesForRole'])
    it(`are retried without a Warning: GetRole finds the role, ${operation} does not`, async () => {
      const world = new SimulatedWorld();
      await world.startWithReady('a');
      const stalled = recordCondition(world, 'a', 'Stalled');
      world.aws.admin.addFault({ operation, kind: NOT_SEEN, times: 2 });
      world.delete('a');
      await world.gone('a');
      expect(callsOf(world, operation).filter(({ errorCode }) => errorCode === 'NoSuchEntity')).to.have.length(2);
      expect(stalled).to.deep.equal(['False NotStalled']);
      expect(world.warnings()).to.deep.equal([]);
      await world.finish();
    });
});

describe('an IAM whose changes are visible late', () => {
  const lags: readonly ConfigPatch['iam'][] = [
    { readAfterCreateMs: 5 * SECOND },
    { writeAfterCreateMs: 5 * SECOND },
    { readAfterUpdateMs: 5 * SECOND },
    { readAfterDeleteMs: 5 * SECOND },
    {
      readAfterCreateMs: 5 * SECOND,
      readAfterUpdateMs: 8 * SECOND,
      readAfterDeleteMs: 5 * SECOND,
      writeAfterCreateMs: 8 * SECOND,
      trustVisibleToEksMs: 12 * SECOND,
    },
  ];
  for (const iam of lags)
    it(`delays an object without a Warning, also one that is created again: ${Object.keys(iam ?? {}).join()}`, async () => {
      const world = new SimulatedWorld({ aws: { iam: iam ?? {} } });
      world.start();
      const ids: (string | undefined)[] = [];
      for (const round of [1, 2]) {
        world.applyWith('a', { additionalTags: { team: 'a' } });
        await world.ready('a');
        expect(world.role('a')?.attachedPolicies).to.deep.equal([EKS_POLICY]);
        ids.push(statusOf(world.profile('a')).role?.id);
        expect(ids.at(-1)).to.equal(world.role('a')?.id);
        world.delete('a');
        await world.gone('a');
        const created = callsOf(world, 'CreateRole').filter(({ applied }) => applied);
        expect(created).to.have.length(round);
      }
      expect(new Set(ids).size).to.equal(2);
      expect(world.warnings()).to.deep.equal([]);
      await world.clock.advance(MINUTE);
      await world.finish();
    });
});

describe('an unknown AWS error', () => {
  const cases = [
    ['CreateFargateProfile', 'EKSFargateProfileReady', 'FailedCreateEKSFargateProfile'],
    ['CreateRole', 'IAMFargateRolesReady', 'FailedIAMRoleCreation'],
    ['DescribeFargateProfile', 'EKSFargateProfileReady', 'AWSError'],
  ] as const;
  for (const [operation, part, event] of cases)
    it(`of ${operation} is in condition and event, with its request id only in the log`, async () => {
      const world = new SimulatedWorld();
      const id = '0b4ed1d6-3b1c-4c4f-8f3a-2f6b6a1f0c11';
      const words = `The moon is full. (Service: Eks, Status Code: 400, Request ID: ${id})`;
      world.aws.admin.addFault({ operation, kind: `error:PhaseOfTheMoonException:${words}`, times: 2 });
      world.start();
      world.apply('a');
      const message = await world.reason('a', 'AWSError');
      expect(message).to.contain('The moon is full. (').and.to.contain(`${operation}: PhaseOfTheMoonException)`);
      expect(world.condition('a', part)?.message).to.equal(message);
      await world.ready('a');
      const warnings = world.objects('events').filter(({ type }) => type === 'Warning');
      expect(warnings.map(({ reason }) => reason)).to.include(event);
      const told = JSON.stringify([world.objects(PLURAL), world.objects('events')]);
      const requestIds = world.aws.admin.calls().map(({ requestId }) => requestId);
      expect([id, ...requestIds].filter((each) => told.includes(each))).to.deep.equal([]);
      const [failed] = callsOf(world, operation).filter(({ errorCode }) => errorCode === 'PhaseOfTheMoonException');
      const log = JSON.stringify(world.managers.flatMap(({ logger }) => logger.lines));
      expect(log).to.contain(failed?.requestId);
      await world.deleteAndFinish('a');
    });
});
