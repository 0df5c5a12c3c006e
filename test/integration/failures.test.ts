import { expect } from 'chai';
import { eventually } from '../support/eventually.ts';
import { sideBySide } from '../support/side-by-side.ts';
import { callsFromNow } from '../world/calls.ts';
import type { Calls } from '../world/calls.ts';
import { lookAgain } from '../world/look-again.ts';
import { messageOf, standing, waiting } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { fargateProfile, startWorld } from '../world/world.ts';

const ISSUES = [
  {
    code: 'PodExecutionRoleAlreadyInUse',
    message: 'The role is in use by a node group',
    resourceIds: ['ng-1', 'ng-2'],
  },
  { code: 'ClusterUnreachable', message: 'The API server does not answer', resourceIds: [] },
];
const WORDS =
  'PodExecutionRoleAlreadyInUse: The role is in use by a node group (ng-1, ng-2); ' +
  'ClusterUnreachable: The API server does not answer';

/** The first pause after a failure, in milliseconds: `FIRST_RECOVERY`. */
const FIRST_PAUSE = 10_000;

/** Clusters of profiles whose calls of AWS meet an error that nobody knows, each with its profile's name. */
const ODD = ['odd-create', 'odd-role', 'odd-read'];

const lifecycle = (calls: Calls): readonly string[] =>
  calls
    .mutations()
    .map(({ operation }) => operation)
    .filter((operation) => operation.endsWith('FargateProfile'));

describe('what EKS takes and cannot do', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    // There before the manager is: a control plane that is seen to become ready has its profiles looked at once more.
    for (const name of ODD) await world.createEksCluster(name);
    await world.startManager();
  });
  const alongside = sideBySide();
  after(() => world.finish());

  async function start(name: string): Promise<void> {
    await world.createEksCluster(name);
    await world.apply(fargateProfile(name, { clusterName: name }));
  }

  const requestedAt = (calls: Calls, operation: string): readonly number[] =>
    calls
      .all()
      .filter((call) => call.operation === operation)
      .map(({ at }) => at);

  /** Passes that look at AWS, long before the pause is over. */
  async function lookOften(name: string, calls: Calls): Promise<void> {
    for (let look = 0; look < 5; look++) {
      const reads = requestedAt(calls, 'DescribeFargateProfile').length;
      await lookAgain(world, name);
      await eventually(() => requestedAt(calls, 'DescribeFargateProfile').length > reads);
    }
  }

  alongside(
    'a create: told in status, condition and event, and tried again after a pause that looks do not shorten',
    async () => {
      world.aws.admin.planFailure({ operation: 'create', profile: 'default_unlucky', times: 2, issues: ISSUES });
      const calls = callsFromNow(world.aws, 'unlucky');
      await start('unlucky');
      const object = await world.condition('unlucky', 'Ready', { status: 'False', reason: 'CreateFailed' });
      expect(standing(object)).to.deep.equal(waiting('CreateFailed'));
      expect(messageOf(object, 'Ready')).to.equal(
        `EKS failed to create Fargate profile "default_unlucky": ${WORDS}. Correct what EKS names; the profile is made anew by itself.`,
      );
      expect(messageOf(object, 'EKSFargateProfileReady')).to.equal(messageOf(object, 'Ready'));
      expect(object.status).to.deep.include({ profileStatus: 'CREATE_FAILED', health: { issues: ISSUES } });
      expect(object.status).not.to.have.property('failureReason');
      expect(object.status).not.to.have.property('failureMessage');
      await world.event(
        'unlucky',
        `Warning CreateFailed: EKS failed to create Fargate profile "default_unlucky": ${WORDS}`,
      );
      await lookOften('unlucky', calls);
      expect(lifecycle(calls)).to.deep.equal(['CreateFargateProfile']);

      await world.ready('unlucky', { timeoutMs: 60_000 });
      const expected = ['Create', 'Delete', 'Create', 'Delete', 'Create'].map((verb) => `${verb}FargateProfile`);
      expect(lifecycle(calls)).to.deep.equal(expected);
      const [first = 0, second = 0] = requestedAt(calls, 'CreateFargateProfile');
      const [again = 0, more = 0] = requestedAt(calls, 'DeleteFargateProfile');
      expect(again - first).to.be.above(FIRST_PAUSE);
      expect(more - second, 'twice as long').to.be.above(2 * FIRST_PAUSE);
      expect(calls.failures()).to.deep.equal([]);
      expect((await world.profile('unlucky'))?.status).not.to.have.property('health');
    },
  );

  alongside(
    'a delete: told in condition and event, and tried again after a pause that looks do not shorten',
    async () => {
      await start('clinging');
      await world.ready('clinging');
      world.aws.admin.planFailure({ operation: 'delete', profile: 'default_clinging', times: 1, issues: ISSUES });
      const calls = callsFromNow(world.aws, 'clinging');
      await world.delete('clinging');
      const object = await world.condition('clinging', 'Deleting', { status: 'True', reason: 'DeleteFailed' });
      expect(standing(object)).to.deep.equal({ ...waiting('DeleteFailed'), Ready: 'False Deleting' });
      expect(messageOf(object, 'Deleting')).to.equal(
        `EKS failed to delete Fargate profile "default_clinging": ${WORDS}. Correct what EKS names; the deletion is tried again by itself.`,
      );
      expect(object.status).to.deep.include({ profileStatus: 'DELETE_FAILED', health: { issues: ISSUES } });
      await world.event(
        'clinging',
        `Warning DeleteFailed: EKS failed to delete Fargate profile "default_clinging": ${WORDS}`,
      );
      await lookOften('clinging', calls);
      expect(lifecycle(calls)).to.deep.equal(['DeleteFargateProfile']);
      await world.gone('clinging');
      const [first = 0, second = 0] = requestedAt(calls, 'DeleteFargateProfile');
      expect(second - first).to.be.above(FIRST_PAUSE);
      expect(lifecycle(calls)).to.have.length(2);
    },
  );

  describe('an error that nobody knows', () => {
    for (const { call, name, operation, where, part, told, event } of [
      {
        call: 'a create',
        name: 'odd-create',
        operation: 'CreateFargateProfile',
        where: { fargateProfileName: 'default_odd-create' },
        part: 'EKSFargateProfileReady',
        told: 'EKS CreateFargateProfile',
        event: 'Warning FailedCreateEKSFargateProfile: Failed to create EKS fargate profile default_odd-create',
      },
      {
        call: 'a create of the role',
        name: 'odd-role',
        operation: 'CreateRole',
        where: { RoleName: 'odd-role-default_odd-role_fargate' },
        part: 'IAMFargateRolesReady',
        told: 'IAM CreateRole',
        event: 'Warning FailedIAMRoleCreation: Failed to create fargate IAM role "odd-role-default_odd-role_fargate"',
      },
      {
        call: 'a read',
        name: 'odd-read',
        operation: 'DescribeFargateProfile',
        where: { fargateProfileName: 'default_odd-read' },
        part: 'EKSFargateProfileReady',
        told: 'EKS DescribeFargateProfile',
        event: 'Warning AWSError: AWS answers with an error',
      },
    ])
      alongside(
        `to ${call}: its words are in condition and event, its request id in the log alone, and it is tried again`,
        async () => {
          const id = world.aws.admin.addFault({
            operation,
            where,
            times: 2,
            kind: 'error:PhaseOfTheMoonException:The moon is full. (Service: Eks, Status Code: 400, Request ID: 0b4ed1d6-3b1c-4c4f-8f3a-2f6b6a1f0c11)',
          });
          const calls = callsFromNow(world.aws, name);
          await world.apply(fargateProfile(name, { clusterName: name }));
          const object = await world.condition(name, 'Ready', { status: 'False', reason: 'AWSError' });
          const words = `The moon is full. (${told}: PhaseOfTheMoonException)`;
          expect(messageOf(object, 'Ready')).to.equal(
            `AWS answers with an error: ${words}. It is tried again by itself; the log of the manager has what AWS Support asks for.`,
          );
          expect(messageOf(object, part)).to.equal(messageOf(object, 'Ready'));
          expect(standing(object)).to.deep.equal(waiting('AWSError'));
          expect((await world.event(name, event)).join('\n')).to.contain(words);

          const { requestId = 'unanswered' } = calls.all().find((each) => each.operation === operation) ?? {};
          await eventually(() => world.manager.log().includes(requestId), { what: `${requestId} in the log` });
          await world.ready(name);
          const told_ = JSON.stringify([await world.profile(name), await world.events(name)]);
          for (const { requestId: each } of calls.all()) expect(told_).not.to.contain(each);
          expect(told_).not.to.contain('0b4ed1d6');
          const [first = 0, second = 0] = calls
            .all()
            .filter((each) => each.errorCode === 'PhaseOfTheMoonException')
            .map(({ at }) => at);
          expect(second - first, 'milliseconds between the tries').to.be.above(4_000);
          world.aws.admin.removeFault({ id });
        },
      );
  });

  it('a create, and the manager is replaced meanwhile: its successor goes on', async () => {
    world.aws.admin.planFailure({ operation: 'create', profile: 'default_orphaned', times: 1, issues: ISSUES });
    const calls = callsFromNow(world.aws);
    await start('orphaned');
    await world.condition('orphaned', 'Ready', { status: 'False', reason: 'CreateFailed' });
    await world.manager.stop('SIGKILL');
    await world.startManager();
    await world.ready('orphaned', { timeoutMs: 60_000 });
    expect(lifecycle(calls)).to.deep.equal(['CreateFargateProfile', 'DeleteFargateProfile', 'CreateFargateProfile']);
  });
});
