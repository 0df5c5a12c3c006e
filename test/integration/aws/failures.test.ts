import { expect } from 'chai';
import { eventually } from '../../support/eventually.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import type { Calls } from '../../world/aws/calls.ts';
import { triggerReconcile } from '../../world/trigger-reconcile.ts';
import { messageOf, summaryOf, waiting } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { fargateProfile, startWorld } from '../../world/world.ts';

const ISSUES = [
  {
    code: 'PodExecutionRoleAlreadyInUse',
    message: 'The role is in use by a node group',
    resourceIds: ['ng-1', 'ng-2'],
  },
  { code: 'ClusterUnreachable', message: 'The API server does not answer', resourceIds: [] },
];
const WORDS =
  'PodExecutionRoleAlreadyInUse: The role is in use by a node group (resources: ng-1, ng-2); ' +
  'ClusterUnreachable: The API server does not answer';

/**
 * The time between the failure of a creation or deletion that EKS had accepted, and the retry by the controller, in
 * milliseconds. It equals the constant `FIRST_RECOVERY` of the controller.
 */
const FIRST_BACKOFF_MS = 10_000;

/**
 * The names of EKS clusters that each have one AWSFargateProfile of the same name. For each of them, one AWS operation
 * fails with an unknown error code.
 */
const UNKNOWN_ERROR_CLUSTERS = ['odd-create', 'odd-role', 'odd-read'];

const lifecycle = (calls: Calls): readonly string[] =>
  calls
    .mutations()
    .map(({ operation }) => operation)
    .filter((operation) => operation.endsWith('FargateProfile'));

describe('an asynchronous failure of EKS', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    // The EKS clusters in UNKNOWN_ERROR_CLUSTERS are created before the manager starts. Otherwise their control planes
    // would become ready later and trigger another reconcile of the AWSFargateProfiles.
    for (const name of UNKNOWN_ERROR_CLUSTERS) await world.createEksCluster(name);
    await world.startManager();
  });
  const alongside = sideBySide();
  after(() => world.finish());

  async function applyWithCluster(name: string): Promise<void> {
    await world.createEksCluster(name);
    await world.apply(fargateProfile(name, { clusterName: name }));
  }

  const requestedAt = (calls: Calls, operation: string): readonly number[] =>
    calls
      .all()
      .filter((call) => call.operation === operation)
      .map(({ at }) => at);

  /**
   * Triggers five reconciles of an AWSFargateProfile, and waits until each of them has read the Fargate profile from
   * AWS. On most machines, they take much less time than the backoff after a failed AWS call.
   */
  async function reconcileOften(name: string, calls: Calls): Promise<void> {
    for (let look = 0; look < 5; look++) {
      const reads = requestedAt(calls, 'DescribeFargateProfile').length;
      await triggerReconcile(world, name);
      await eventually(() => requestedAt(calls, 'DescribeFargateProfile').length > reads);
    }
  }

  alongside(
    'of a create is reported in status, condition and event, and retried after a backoff that reconciles do not shorten',
    async () => {
      world.aws.admin.planFailure({ operation: 'create', profile: 'default_unlucky', times: 2, issues: ISSUES });
      const calls = callsFromNow(world.aws, 'unlucky');
      await applyWithCluster('unlucky');
      const object = await world.condition('unlucky', 'Ready', { status: 'False', reason: 'CreateFailed' });
      expect(summaryOf(object)).to.deep.equal(waiting('CreateFailed'));
      expect(messageOf(object, 'Ready')).to.equal(
        `EKS failed to create Fargate profile "default_unlucky". EKS says: ${WORDS}. Correct the problem that EKS names. The controller retries on its own: it deletes the failed profile and creates it again.`,
      );
      expect(messageOf(object, 'EKSFargateProfileReady')).to.equal(messageOf(object, 'Ready'));
      expect(object.status).to.deep.include({ profileStatus: 'CREATE_FAILED', health: { issues: ISSUES } });
      expect(object.status).not.to.have.property('failureReason');
      expect(object.status).not.to.have.property('failureMessage');
      await world.event(
        'unlucky',
        `Warning CreateFailed: EKS failed to create Fargate profile "default_unlucky". EKS says: ${WORDS}`,
      );
      await reconcileOften('unlucky', calls);
      await world.ready('unlucky');
      const expected = ['Create', 'Delete', 'Create', 'Delete', 'Create'].map((verb) => `${verb}FargateProfile`);
      expect(lifecycle(calls)).to.deep.equal(expected);
      const [first = 0, second = 0] = requestedAt(calls, 'CreateFargateProfile');
      const [again = 0, more = 0] = requestedAt(calls, 'DeleteFargateProfile');
      expect(again - first).to.be.above(FIRST_BACKOFF_MS);
      expect(more - second, 'the second backoff is twice as long').to.be.above(2 * FIRST_BACKOFF_MS);
      expect(calls.failures()).to.deep.equal([]);
      expect((await world.profile('unlucky'))?.status).not.to.have.property('health');
    },
  );

  alongside(
    'of a delete is reported in condition and event, and retried after a backoff that reconciles do not shorten',
    async () => {
      await applyWithCluster('clinging');
      await world.ready('clinging');
      world.aws.admin.planFailure({ operation: 'delete', profile: 'default_clinging', times: 1, issues: ISSUES });
      const calls = callsFromNow(world.aws, 'clinging');
      await world.delete('clinging');
      const object = await world.condition('clinging', 'Deleting', { status: 'True', reason: 'DeleteFailed' });
      expect(summaryOf(object)).to.deep.equal({ ...waiting('DeleteFailed'), Ready: 'False Deleting' });
      expect(messageOf(object, 'Deleting')).to.equal(
        `EKS failed to delete Fargate profile "default_clinging". EKS says: ${WORDS}. Correct the problem that EKS names. The controller retries the deletion on its own.`,
      );
      expect(object.status).to.deep.include({ profileStatus: 'DELETE_FAILED', health: { issues: ISSUES } });
      await world.event(
        'clinging',
        `Warning DeleteFailed: EKS failed to delete Fargate profile "default_clinging". EKS says: ${WORDS}`,
      );
      await reconcileOften('clinging', calls);
      await world.gone('clinging');
      const [first = 0, second = 0] = requestedAt(calls, 'DeleteFargateProfile');
      expect(second - first).to.be.above(FIRST_BACKOFF_MS);
      expect(lifecycle(calls)).to.have.length(2);
    },
  );

  describe('an unknown AWS error', () => {
    for (const { call, name, operation, where, part, operationName, event } of [
      {
        call: 'a create',
        name: 'odd-create',
        operation: 'CreateFargateProfile',
        where: { fargateProfileName: 'default_odd-create' },
        part: 'EKSFargateProfileReady',
        operationName: 'EKS CreateFargateProfile',
        event: 'Warning FailedCreateEKSFargateProfile: Failed to create EKS fargate profile default_odd-create',
      },
      {
        call: 'a create of the role',
        name: 'odd-role',
        operation: 'CreateRole',
        where: { RoleName: 'odd-role-default_odd-role_fargate' },
        part: 'IAMFargateRolesReady',
        operationName: 'IAM CreateRole',
        event: 'Warning FailedIAMRoleCreation: Failed to create fargate IAM role "odd-role-default_odd-role_fargate"',
      },
      {
        call: 'a read',
        name: 'odd-read',
        operation: 'DescribeFargateProfile',
        where: { fargateProfileName: 'default_odd-read' },
        part: 'EKSFargateProfileReady',
        operationName: 'EKS DescribeFargateProfile',
        event: 'Warning AWSError: AWS answers a request of the controller with an error',
      },
    ])
      alongside(
        `in ${call} is reported in condition and event, its request id only in the log, and the call is retried`,
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
          const words = `The moon is full. (${operationName}: PhaseOfTheMoonException)`;
          expect(messageOf(object, 'Ready')).to.equal(
            `AWS answers a request of the controller with an error: ${words}. If the error lasts for more than ten minutes, look for its cause in the AWS account, or ask AWS Support; with --v=4 the log of the manager has the details of each request. The controller retries on its own.`,
          );
          expect(messageOf(object, part)).to.equal(messageOf(object, 'Ready'));
          expect(summaryOf(object)).to.deep.equal(waiting('AWSError'));
          expect((await world.event(name, event)).join('\n')).to.contain(words);

          const { requestId = 'unanswered' } = calls.all().find((each) => each.operation === operation) ?? {};
          await eventually(() => world.manager.log().includes(requestId), { what: `${requestId} in the log` });
          await world.ready(name);
          const objectAndEvents = JSON.stringify([await world.profile(name), await world.events(name)]);
          for (const { requestId: each } of calls.all()) expect(objectAndEvents).not.to.contain(each);
          expect(objectAndEvents).not.to.contain('0b4ed1d6');
          const [first = 0, second = 0] = calls
            .all()
            .filter((each) => each.errorCode === 'PhaseOfTheMoonException')
            .map(({ at }) => at);
          expect(second - first, 'milliseconds between the attempts').to.be.above(4_000);
          world.aws.admin.removeFault({ id });
        },
      );
  });

  it('of a create is recovered by the next manager when the first manager is killed', async () => {
    world.aws.admin.planFailure({ operation: 'create', profile: 'default_orphaned', times: 1, issues: ISSUES });
    const calls = callsFromNow(world.aws);
    await applyWithCluster('orphaned');
    await world.condition('orphaned', 'Ready', { status: 'False', reason: 'CreateFailed' });
    await world.manager.stop('SIGKILL');
    await world.startManager();
    await world.ready('orphaned');
    expect(lifecycle(calls)).to.deep.equal(['CreateFargateProfile', 'DeleteFargateProfile', 'CreateFargateProfile']);
  });
});
