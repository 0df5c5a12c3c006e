import { DeleteRolePolicyCommand, PutRolePolicyCommand, UpdateAssumeRolePolicyCommand } from '@aws-sdk/client-iam';
import { expect } from 'chai';
import type { ClusterView } from '../../aws/admin/views.ts';
import type { RawObject } from '../../envtest/clients/api.ts';
import { callsFromNow } from '../../world/aws/calls.ts';
import type { ProfileHistory } from '../../world/history.ts';
import { historyOf } from '../../world/history.ts';
import { conditionOf, messageOf, stalled, summaryOf, waiting } from '../../world/object-state.ts';
import { HELD_MS } from '../../world/aws/operations.ts';
import type { OtherClient } from '../../world/aws/other-client.ts';
import { createOtherClient } from '../../world/aws/other-client.ts';
import type { EksClusterOptions, World } from '../../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../../world/world.ts';

const TRUST = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { Service: 'eks-fargate-pods.amazonaws.com' }, Action: 'sts:AssumeRole' }],
});
const EC2_TRUST = TRUST.replace('eks-fargate-pods', 'ec2');
const USER = `arn:aws:iam::${ACCOUNT}:user/test`;

const NODE_GROUP_ROLE = {
  code: 'PodExecutionRoleAlreadyInUse',
  message: 'The role is in use by a node group',
  resourceIds: ['ng-1'],
} as const;
const INTERNAL_FAILURE = { code: 'InternalFailure', message: 'Something broke', resourceIds: [] } as const;

const privateSubnet = ({ subnets }: ClusterView): string => subnets.find(({ isPublic }) => !isPublic)?.id ?? '';
const publicSubnet = ({ subnets }: ClusterView): string => subnets.find(({ isPublic }) => isPublic)?.id ?? '';
const roleOf = (name: string): string => `${name}-default_${name}_fargate`;
const arnOf = (cluster: string): string => `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/default_${cluster}-control-plane`;

describe('refusals by AWS', () => {
  let world: World;
  let stranger: OtherClient;
  let history: ProfileHistory;
  before(async () => {
    world = await startWorld();
    stranger = createOtherClient(world);
    history = historyOf(world);
    await world.startManager({ flags: ['--sync-period', '500ms'] });
    await startRetriedCases();
  });
  after(async () => {
    await history.stop();
    await world.finish();
  });

  const applyProfile = (name: string, spec: object = {}): Promise<void> =>
    world.apply(fargateProfile(name, { clusterName: name, ...spec }));
  const cluster = (name: string, options?: EksClusterOptions): Promise<ClusterView> =>
    world.createEksCluster(name, options);
  const waitForNotReady = (name: string, reason: string): Promise<RawObject> =>
    world.condition(name, 'Ready', { status: 'False', reason });
  /**
   * Changes the spec of an AWSFargateProfile by adding a tag. Any change of the spec ends the backoff after a refused
   * AWS call.
   */
  const touch = (name: string): Promise<void> => world.patch(name, { spec: { additionalTags: { touched: 'yes' } } });

  async function expectRefused(
    name: string,
    { reason, part, words, event }: { reason: string; part: string; words: string; event: string },
  ): Promise<void> {
    // `waitForCondition` returns the first version of the AWSFargateProfile in which the Ready condition has the
    // expected reason. If a permission is missing, the Stalled condition is not True in that version, because the
    // controller sets it to True only after two minutes.
    const object = await history.waitForCondition(name, 'Ready', { status: 'False', reason });
    const isStalled = reason !== 'AccessDenied';
    expect(summaryOf(object)).to.deep.equal(isStalled ? stalled(reason) : waiting(reason));
    expect(messageOf(object, 'Ready')).to.contain(words);
    expect(conditionOf(object, part)).to.include({ status: 'False', reason });
    expect(messageOf(object, isStalled ? 'Stalled' : 'Reconciling')).to.equal(messageOf(object, 'Ready'));
    expect(object.status).to.include({ ready: false, observedGeneration: 1 });
    const warnings = (await world.event(name, event)).filter((each) => each.startsWith('Warning'));
    expect(warnings.join('\n')).to.contain(words);
  }

  /**
   * Expects that the refusal affects only one AWSFargateProfile of an EKS cluster. Creates a second one in the same EKS
   * cluster, and waits until the second one is Ready.
   */
  async function expectOtherObjectReady(name: string): Promise<void> {
    await world.apply(fargateProfile(`${name}-neighbour`, { clusterName: name }));
    await world.ready(`${name}-neighbour`);
  }

  // Starts the test cases in which the controller retries a refused AWS call only after 10 s or more. They start before
  // the first test of this file, so that the time passes while other tests run. Later tests check their results.
  async function startRetriedCases(): Promise<void> {
    const { admin } = world.aws;
    const names = ['denied', 'failed', 'stays', 'undeletable', 'updating'];
    await Promise.all(names.map((name) => cluster(name)));
    admin.deny({ principal: '*', action: 'eks:CreateFargateProfile', resource: arnOf('denied') });
    admin.deny({ principal: '*', action: 'eks:DeleteFargateProfile', resource: '*/default_undeletable/*' });
    admin.planFailure({ operation: 'create', profile: 'default_failed', times: 1, issues: [NODE_GROUP_ROLE] });
    admin.planFailure({ operation: 'delete', profile: 'default_stays', times: 1, issues: [INTERNAL_FAILURE] });
    admin.setCluster({ name: 'default_updating-control-plane', updateInProgressMs: HELD_MS });
    await Promise.all(names.map((name) => applyProfile(name)));
    await Promise.all(['stays', 'undeletable'].map((name) => world.ready(name)));
    await Promise.all(['stays', 'undeletable'].map((name) => world.delete(name)));
  }

  describe('that are retried automatically', () => {
    it('a cluster update makes the object wait without a Warning', async () => {
      const object = await history.waitForCondition('updating', 'Ready', {
        status: 'False',
        reason: 'ClusterUpdating',
      });
      expect(summaryOf(object)).to.deep.equal(waiting('ClusterUpdating'));
      expect(messageOf(object, 'Ready')).to.contain('"default_updating-control-plane"');
      world.aws.admin.setCluster({ name: 'default_updating-control-plane', updateInProgressMs: 0 });
    });

    it('a failed create is reported with the health issues of EKS', async () => {
      const object = await history.waitForCondition('failed', 'Ready', { status: 'False', reason: 'CreateFailed' });
      expect(summaryOf(object)).to.deep.equal(waiting('CreateFailed'));
      const words = 'PodExecutionRoleAlreadyInUse: The role is in use by a node group (resources: ng-1)';
      expect(messageOf(object, 'Ready')).to.contain(words);
      expect(object.status).to.deep.include({ profileStatus: 'CREATE_FAILED', health: { issues: [NODE_GROUP_ROLE] } });
      expect((await world.event('failed', 'Warning CreateFailed')).join('\n')).to.contain(words);
    });

    it('a failed deletion keeps the object, its finalizer and the role', async () => {
      const object = await history.waitForCondition('stays', 'Deleting', { status: 'True', reason: 'DeleteFailed' });
      expect(summaryOf(object)).to.deep.equal({ ...waiting('DeleteFailed'), Ready: 'False Deleting' });
      expect(messageOf(object, 'Deleting')).to.contain('InternalFailure: Something broke');
      expect(object.metadata.finalizers).to.have.length(1);
      expect(world.awsView.role(roleOf('stays'))).not.to.equal(undefined);
      await world.event('stays', 'Warning DeleteFailed');
    });

    it('a denied create is reported', async () => {
      await expectRefused('denied', {
        reason: 'AccessDenied',
        part: 'EKSFargateProfileReady',
        words: `User: ${USER} is not authorized to perform: eks:CreateFargateProfile on resource: ${arnOf('denied')}`,
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      world.aws.admin.allow({ action: 'eks:CreateFargateProfile' });
    });

    it('a denied deletion keeps the role', async () => {
      const denied = { status: 'True', reason: 'AccessDenied' };
      const object = await history.waitForCondition('undeletable', 'Deleting', denied);
      expect(summaryOf(object)).to.deep.equal({ ...waiting('AccessDenied'), Ready: 'False Deleting' });
      const words = `User: ${USER} is not authorized to perform: eks:DeleteFargateProfile`;
      expect(messageOf(object, 'Deleting')).to.contain(words);
      expect((await world.event('undeletable', 'Warning FailedDeleteEKSFargateProfile')).join('\n')).to.contain(words);
      expect(world.awsView.role(roleOf('undeletable'))).not.to.equal(undefined);
      world.aws.admin.allow({ action: 'eks:DeleteFargateProfile' });
    });
  });

  describe('of a create by EKS', () => {
    it('for a public subnet are reported with the message of EKS until the spec is corrected', async () => {
      const eks = await cluster('public');
      const subnet = publicSubnet(eks);
      await applyProfile('public', { subnetIDs: [subnet] });
      const words = `Subnet ${subnet} provided in Fargate Profile is not a private subnet`;
      await expectRefused('public', {
        reason: 'Refused',
        part: 'EKSFargateProfileReady',
        words,
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      await expectOtherObjectReady('public');
      await world.patch('public', { spec: { subnetIDs: [privateSubnet(eks)] } });
      await world.ready('public');
    });

    it('for a subnet that does not exist are reported until the spec is corrected', async () => {
      const eks = await cluster('nosubnet');
      await applyProfile('nosubnet', { subnetIDs: ['subnet-0123456789abcdef0'] });
      await expectRefused('nosubnet', {
        reason: 'Refused',
        part: 'EKSFargateProfileReady',
        words: "The subnet ID 'subnet-0123456789abcdef0' does not exist",
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      await expectOtherObjectReady('nosubnet');
      await world.patch('nosubnet', { spec: { subnetIDs: [privateSubnet(eks)] } });
      await world.ready('nosubnet');
    });

    // The controller retries a creation that exceeded the quota of EKS. This test checks that the retry succeeds;
    // test/simulation/failures.test.ts checks the time of the retry on a virtual clock.
    it('beyond the quota end when another profile is deleted', async () => {
      const eks = await cluster('full');
      for (let index = 0; index < 9; index++) {
        const podExecutionRoleArn = `arn:aws:iam::${ACCOUNT}:role/pods`;
        world.aws.admin.putProfile({ cluster: eks.name, name: `other-${index}`, podExecutionRoleArn });
      }
      await applyProfile('full');
      await world.ready('full');
      await world.apply(fargateProfile('eleventh', { clusterName: 'full' }));
      const object = await waitForNotReady('eleventh', 'QuotaExceeded');
      expect(summaryOf(object)).to.deep.equal(waiting('QuotaExceeded'));
      expect(messageOf(object, 'Ready')).to.contain('Fargate Profile limit exceeded for cluster.');
      await world.event('eleventh', 'Fargate Profile limit exceeded for cluster.');
      await world.delete('full');
      await world.gone('full');
      await world.ready('eleventh');
    });

    it('for a missing iam:PassRole permission are reported', async () => {
      await cluster('passrole');
      const resource = `arn:aws:iam::${ACCOUNT}:role/${roleOf('passrole')}`;
      world.aws.admin.deny({ principal: '*', action: 'iam:PassRole', resource });
      await applyProfile('passrole');
      await expectRefused('passrole', {
        reason: 'AccessDenied',
        part: 'EKSFargateProfileReady',
        words: `User: ${USER} is not authorized to perform: iam:PassRole on resource: ${resource}`,
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      await expectOtherObjectReady('passrole');
      world.aws.admin.allow({ action: 'iam:PassRole' });
      await touch('passrole');
      await world.ready('passrole');
    });
  });

  describe('for the role', () => {
    it('a denied CreateRole is reported with the message of IAM, and no profile is created', async () => {
      await cluster('norole');
      const resource = `arn:aws:iam::${ACCOUNT}:role/${roleOf('norole')}`;
      world.aws.admin.deny({ principal: '*', action: 'iam:CreateRole', resource });
      const calls = callsFromNow(world.aws);
      await applyProfile('norole');
      await expectRefused('norole', {
        reason: 'AccessDenied',
        part: 'IAMFargateRolesReady',
        words: `User: ${USER} is not authorized to perform: iam:CreateRole on resource: ${resource}`,
        event: 'Warning FailedIAMRoleCreation',
      });
      await expectOtherObjectReady('norole');
      expect(calls.about('default_norole').filter(({ mutates }) => mutates)).to.deep.equal([]);
      world.aws.admin.allow({ action: 'iam:CreateRole' });
      await touch('norole');
      await world.ready('norole');
    });

    it('a policy that does not exist is reported', async () => {
      await cluster('nopolicy');
      const arn = `arn:aws:iam::${ACCOUNT}:policy/missing`;
      await applyProfile('nopolicy', { roleAdditionalPolicies: [arn] });
      const object = await waitForNotReady('nopolicy', 'Refused');
      expect(summaryOf(object)).to.deep.equal(stalled('Refused'));
      expect(conditionOf(object, 'IAMFargateRolesReady')).to.include({ status: 'False', reason: 'Refused' });
      expect(messageOf(object, 'Ready')).to.contain(`Policy ${arn} does not exist or is not attachable.`);
      await world.patch('nopolicy', { spec: { roleAdditionalPolicies: null } });
      await world.ready('nopolicy');
    });

    it('a role of another owner that Fargate cannot assume is reported, and no profile is created until its trust policy is corrected', async () => {
      await cluster('mistrust');
      world.aws.admin.putRole({ name: 'mistrusting', trustPolicy: EC2_TRUST });
      const calls = callsFromNow(world.aws);
      await applyProfile('mistrust', { roleName: 'mistrusting' });
      const object = await waitForNotReady('mistrust', 'RoleTrustInvalid');
      expect(summaryOf(object)).to.deep.equal(stalled('RoleTrustInvalid'));
      expect(conditionOf(object, 'IAMFargateRolesReady')).to.include({ status: 'False', reason: 'RoleTrustInvalid' });
      expect(messageOf(object, 'Ready')).to.contain('"mistrusting"').and.to.contain('eks-fargate-pods.amazonaws.com');
      await world.event('mistrust', 'Warning RoleTrustInvalid');
      await expectOtherObjectReady('mistrust');
      expect(calls.about('default_mistrust').filter(({ mutates }) => mutates)).to.deep.equal([]);
      await stranger.iam.send(new UpdateAssumeRolePolicyCommand({ RoleName: 'mistrusting', PolicyDocument: TRUST }));
      await world.ready('mistrust');
    });

    it('a missing role that spec.roleARN names is reported', async () => {
      await cluster('missing');
      await applyProfile('missing', { roleARN: `arn:aws:iam::${ACCOUNT}:role/missing` });
      const object = await waitForNotReady('missing', 'RoleNotFound');
      expect(summaryOf(object)).to.deep.equal(stalled('RoleNotFound'));
      await world.event('missing', 'Warning RoleNotFound');
      world.aws.admin.putRole({ name: 'missing', trustPolicy: TRUST });
      await world.ready('missing');
    });

    it('a role that is not yet visible to EKS makes the object wait without a Warning', async () => {
      const { admin } = world.aws;
      await cluster('slow-iam');
      admin.setConfig({ iam: { trustVisibleToEksMs: HELD_MS } });
      await applyProfile('slow-iam');
      const object = await history.waitForCondition('slow-iam', 'Ready', { status: 'False', reason: 'Propagating' });
      expect(summaryOf(object)).to.deep.equal(waiting('Propagating'));
      admin.setConfig({ iam: { trustVisibleToEksMs: 0 } });
      await world.ready('slow-iam');
      expect((await world.events('slow-iam')).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
    });
  });

  describe('for a name that is taken', () => {
    it('a profile of another owner stays unchanged, no role is created, and the object gets the name once the profile is deleted', async () => {
      const eks = await cluster('taken');
      world.aws.admin.putRole({ name: 'theirs', trustPolicy: TRUST });
      const theirs = world.aws.admin.putProfile({
        cluster: eks.name,
        name: 'default_taken',
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/theirs`,
        tags: { team: 'theirs' },
      });
      const calls = callsFromNow(world.aws);
      await applyProfile('taken');
      const object = await waitForNotReady('taken', 'ProfileNotOwned');
      expect(summaryOf(object)).to.deep.equal(stalled('ProfileNotOwned'));
      expect(conditionOf(object, 'EKSFargateProfileReady')).to.include({ status: 'False', reason: 'ProfileNotOwned' });
      expect(messageOf(object, 'Ready')).to.contain('"default_taken"');
      await world.event('taken', 'Warning ProfileNotOwned');
      await expectOtherObjectReady('taken');
      expect(world.awsView.profile('default_taken')).to.deep.equal(theirs);
      expect(calls.about(roleOf('taken')).filter(({ mutates }) => mutates)).to.deep.equal([]);
      world.aws.admin.removeProfile({ cluster: eks.name, name: 'default_taken' });
      await world.ready('taken');
    });

    it('a role of another owner stays unchanged, also when the object is deleted', async () => {
      await cluster('roletaken');
      const theirs = world.aws.admin.putRole({
        name: roleOf('roletaken'),
        trustPolicy: TRUST,
        tags: { team: 'theirs' },
      });
      await applyProfile('roletaken');
      const object = await waitForNotReady('roletaken', 'RoleNotOwned');
      expect(summaryOf(object)).to.deep.equal(stalled('RoleNotOwned'));
      expect(conditionOf(object, 'IAMFargateRolesReady')).to.include({ status: 'False', reason: 'RoleNotOwned' });
      await world.event('roletaken', 'Warning RoleNotOwned');
      await world.delete('roletaken');
      await world.gone('roletaken');
      expect(world.awsView.role(roleOf('roletaken'))).to.deep.equal(theirs);
    });
  });

  describe('for a missing EKS cluster', () => {
    it('are reported until the cluster exists', async () => {
      const { name, subnets } = await cluster('nocluster');
      world.aws.admin.removeCluster({ name });
      await applyProfile('nocluster');
      const object = await waitForNotReady('nocluster', 'EKSClusterNotFound');
      expect(summaryOf(object)).to.deep.equal(stalled('EKSClusterNotFound'));
      expect(messageOf(object, 'Ready')).to.contain(`"${name}" does not exist in region us-east-1`);
      world.aws.admin.createCluster({ name, subnets });
      await world.ready('nocluster');
    });
  });

  describe('of a deletion', () => {
    it('a role with a foreign inline policy is kept; the condition names the policy, and the deletion continues once it is removed', async () => {
      await cluster('inline');
      await applyProfile('inline');
      await world.ready('inline');
      const [RoleName, PolicyName] = [roleOf('inline'), 'by-hand'];
      await stranger.iam.send(new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument: TRUST }));
      await world.delete('inline');
      const object = await world.condition('inline', 'Stalled', { status: 'True', reason: 'RoleBlocked' });
      expect(messageOf(object, 'Deleting')).to.contain(RoleName).and.to.contain('the inline policy "by-hand"');
      expect(world.awsView.profile('default_inline')).to.equal(undefined);
      await stranger.iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
      await world.gone('inline');
    });
  });

  describe('of retried calls', () => {
    it('end without an action of the user', async () => {
      await Promise.all(['failed', 'updating'].map((name) => world.ready(name)));
      await world.gone('stays');
      const { status } = await world.ready('failed');
      expect(status).not.to.have.property('health');
      expect((await world.events('updating')).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
    });

    it('end after a change of the spec, or after a restart of the manager', async () => {
      await touch('denied');
      await world.ready('denied');
      await world.stopManager();
      await world.startManager();
      await world.gone('undeletable');
    });
  });

  // The tests in this `describe` deny a permission that every CreateFargateProfile call needs. So they run after the
  // tests in which the controller retries creations.
  describe('of any create by EKS', () => {
    it('for a missing permission to read the service-linked role of Fargate are reported', async () => {
      await cluster('slr');
      const resource = '*AWSServiceRoleForAmazonEKSForFargate';
      world.aws.admin.deny({ principal: '*', action: 'iam:GetRole', resource });
      await applyProfile('slr');
      await expectRefused('slr', {
        reason: 'AccessDenied',
        part: 'EKSFargateProfileReady',
        words:
          "Failed to validate if SLR: AWSServiceRoleForAmazonEKSForFargate already exists due to missing permissions for 'iam:GetRole",
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      world.aws.admin.allow({ action: 'iam:GetRole' });
      await touch('slr');
      await world.ready('slr');
    });
  });
});
