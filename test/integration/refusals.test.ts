import { DeleteRolePolicyCommand, PutRolePolicyCommand, UpdateAssumeRolePolicyCommand } from '@aws-sdk/client-iam';
import { expect } from 'chai';
import type { ClusterView } from '../aws/views.ts';
import type { KubeObject } from '../envtest/api.ts';
import { callsFromNow } from '../world/calls.ts';
import type { History } from '../world/history.ts';
import { historyOf } from '../world/history.ts';
import { conditionOf, messageOf, stalled, standing, waiting } from '../world/standing.ts';
import type { Stranger } from '../world/stranger.ts';
import { strangerIn } from '../world/stranger.ts';
import type { EksClusterOptions, World } from '../world/world.ts';
import { ACCOUNT, fargateProfile, startWorld } from '../world/world.ts';

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
const BROKEN = { code: 'InternalFailure', message: 'Something broke', resourceIds: [] } as const;

const privateSubnet = ({ subnets }: ClusterView): string => subnets.find(({ isPublic }) => !isPublic)?.id ?? '';
const publicSubnet = ({ subnets }: ClusterView): string => subnets.find(({ isPublic }) => isPublic)?.id ?? '';
const roleOf = (name: string): string => `${name}-default_${name}_fargate`;
const arnOf = (cluster: string): string => `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/default_${cluster}-control-plane`;

describe('what AWS refuses', () => {
  let world: World;
  let stranger: Stranger;
  let history: History;
  before(async () => {
    world = await startWorld();
    stranger = strangerIn(world);
    history = historyOf(world);
    await world.startManager({ flags: ['--sync-period', '500ms'] });
    await beginWhatTakesLong();
  });
  after(async () => {
    stranger.close();
    await history.stop();
    await world.finish();
  });

  /** A profile on a cluster of its own name. */
  const start = (name: string, spec: object = {}): Promise<void> =>
    world.apply(fargateProfile(name, { clusterName: name, ...spec }));
  const cluster = (name: string, options?: EksClusterOptions): Promise<ClusterView> =>
    world.createEksCluster(name, options);
  const stops = (name: string, reason: string): Promise<KubeObject> =>
    world.condition(name, 'Ready', { status: 'False', reason });
  /** Any change of the spec is a reason to try at once what was refused. */
  const touch = (name: string): Promise<void> => world.patch(name, { spec: { additionalTags: { touched: 'yes' } } });

  async function expectRefused(
    name: string,
    { reason, part, words, event }: { reason: string; part: string; words: string; event: string },
  ): Promise<void> {
    const object = await stops(name, reason);
    expect(standing(object)).to.deep.equal(stalled(reason));
    expect(messageOf(object, 'Ready')).to.contain(words);
    expect(conditionOf(object, part)).to.include({ status: 'False', reason });
    expect(messageOf(object, 'Stalled')).to.equal(messageOf(object, 'Ready'));
    expect(object.status).to.include({ ready: false, observedGeneration: 1 });
    const told = (await world.event(name, event)).filter((each) => each.startsWith('Warning'));
    expect(told.join('\n')).to.contain(words);
  }

  /** A refusal concerns one object: another one in the same cluster gets what it wants meanwhile. */
  async function expectOthersGoOn(name: string): Promise<void> {
    await world.apply(fargateProfile(`${name}-neighbour`, { clusterName: name }));
    await world.ready(`${name}-neighbour`);
  }

  // What is tried again only after ten seconds or more is begun first, and looked after last.
  async function beginWhatTakesLong(): Promise<void> {
    const { admin } = world.aws;
    const names = ['denied', 'failed', 'stays', 'undeletable', 'updating'];
    await Promise.all(names.map((name) => cluster(name)));
    admin.deny({ principal: '*', action: 'eks:CreateFargateProfile', resource: arnOf('denied') });
    admin.deny({ principal: '*', action: 'eks:DeleteFargateProfile', resource: '*/default_undeletable/*' });
    admin.planFailure({ operation: 'create', profile: 'default_failed', times: 1, issues: [NODE_GROUP_ROLE] });
    admin.planFailure({ operation: 'delete', profile: 'default_stays', times: 1, issues: [BROKEN] });
    admin.setCluster({ name: 'default_updating-control-plane', updateInProgressMs: 5_000 });
    await Promise.all(names.map((name) => start(name)));
    await Promise.all(['stays', 'undeletable'].map((name) => world.ready(name)));
    await Promise.all(['stays', 'undeletable'].map((name) => world.delete(name)));
  }

  describe('what is tried again by itself', () => {
    it('a change that EKS takes no other beside: a wait, without a Warning', async () => {
      const object = await history.had('updating', 'Ready', { status: 'False', reason: 'ClusterUpdating' });
      expect(standing(object)).to.deep.equal(waiting('ClusterUpdating'));
      expect(messageOf(object, 'Ready')).to.contain('"default_updating-control-plane"');
    });

    it('a create that fails: with EKS’ health issues, and without the finished role', async () => {
      const object = await history.had('failed', 'Ready', { status: 'False', reason: 'CreateFailed' });
      expect(standing(object)).to.deep.equal(waiting('CreateFailed'));
      const words = 'PodExecutionRoleAlreadyInUse: The role is in use by a node group (ng-1)';
      expect(messageOf(object, 'Ready')).to.contain(words);
      expect(object.status).to.deep.include({ profileStatus: 'CREATE_FAILED', health: { issues: [NODE_GROUP_ROLE] } });
      expect((await world.event('failed', 'Warning CreateFailed')).join('\n')).to.contain(words);
    });

    it('a deletion that fails: the object, its finalizer and the role stay meanwhile', async () => {
      const object = await history.had('stays', 'Deleting', { status: 'True', reason: 'DeleteFailed' });
      expect(standing(object)).to.deep.equal({ ...waiting('DeleteFailed'), Ready: 'False Deleting' });
      expect(messageOf(object, 'Deleting')).to.contain('InternalFailure: Something broke');
      expect(object.metadata.finalizers).to.have.length(1);
      expect(world.inAws.role(roleOf('stays'))).not.to.equal(undefined);
      await world.event('stays', 'Warning DeleteFailed');
    });

    it('a create that is denied', async () => {
      await expectRefused('denied', {
        reason: 'AccessDenied',
        part: 'EKSFargateProfileReady',
        words: `User: ${USER} is not authorized to perform: eks:CreateFargateProfile on resource: ${arnOf('denied')}`,
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      world.aws.admin.allow({ action: 'eks:CreateFargateProfile' });
    });

    it('a deletion that is denied: the role stays meanwhile', async () => {
      const object = await world.condition('undeletable', 'Stalled', { status: 'True', reason: 'AccessDenied' });
      expect(standing(object)).to.deep.equal({ ...stalled('AccessDenied'), Ready: 'False Deleting' });
      const words = `User: ${USER} is not authorized to perform: eks:DeleteFargateProfile`;
      expect(messageOf(object, 'Deleting')).to.contain(words);
      expect((await world.event('undeletable', 'Warning FailedDeleteEKSFargateProfile')).join('\n')).to.contain(words);
      expect(world.inAws.role(roleOf('undeletable'))).not.to.equal(undefined);
      world.aws.admin.allow({ action: 'eks:DeleteFargateProfile' });
    });
  });

  describe('a create that EKS refuses', () => {
    it('for a public subnet: in EKS’ words, until the spec is mended', async () => {
      const eks = await cluster('public');
      const subnet = publicSubnet(eks);
      await start('public', { subnetIDs: [subnet] });
      const words = `Subnet ${subnet} provided in Fargate Profile is not a private subnet`;
      await expectRefused('public', {
        reason: 'Refused',
        part: 'EKSFargateProfileReady',
        words,
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      await expectOthersGoOn('public');
      await world.patch('public', { spec: { subnetIDs: [privateSubnet(eks)] } });
      await world.ready('public');
    });

    it('for a subnet that does not exist', async () => {
      const eks = await cluster('nosubnet');
      await start('nosubnet', { subnetIDs: ['subnet-0123456789abcdef0'] });
      await expectRefused('nosubnet', {
        reason: 'Refused',
        part: 'EKSFargateProfileReady',
        words: "The subnet ID 'subnet-0123456789abcdef0' does not exist",
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      await expectOthersGoOn('nosubnet');
      await world.patch('nosubnet', { spec: { subnetIDs: [privateSubnet(eks)] } });
      await world.ready('nosubnet');
    });

    // How soon: test/kernel/failures.test.ts.
    it('beyond the quota waits, and gets the place of one that goes', async () => {
      const eks = await cluster('full');
      for (let index = 0; index < 9; index++) {
        const podExecutionRoleArn = `arn:aws:iam::${ACCOUNT}:role/pods`;
        world.aws.admin.putProfile({ cluster: eks.name, name: `other-${index}`, podExecutionRoleArn });
      }
      await start('full');
      await world.ready('full');
      await world.apply(fargateProfile('eleventh', { clusterName: 'full' }));
      const object = await stops('eleventh', 'QuotaExceeded');
      expect(standing(object)).to.deep.equal(waiting('QuotaExceeded'));
      expect(messageOf(object, 'Ready')).to.contain('Fargate Profile limit exceeded for cluster.');
      await world.event('eleventh', 'Fargate Profile limit exceeded for cluster.');
      await world.delete('full');
      await world.gone('full');
      await world.ready('eleventh');
    });

    it('because the caller may not pass the role', async () => {
      await cluster('passrole');
      const resource = `arn:aws:iam::${ACCOUNT}:role/${roleOf('passrole')}`;
      world.aws.admin.deny({ principal: '*', action: 'iam:PassRole', resource });
      await start('passrole');
      await expectRefused('passrole', {
        reason: 'AccessDenied',
        part: 'EKSFargateProfileReady',
        words: `User: ${USER} is not authorized to perform: iam:PassRole on resource: ${resource}`,
        event: 'Warning FailedCreateEKSFargateProfile',
      });
      await expectOthersGoOn('passrole');
      world.aws.admin.allow({ action: 'iam:PassRole' });
      await touch('passrole');
      await world.ready('passrole');
    });
  });

  describe('a role that IAM refuses', () => {
    it('to make: no profile is tried, and IAM’s words say what is missing', async () => {
      await cluster('norole');
      const resource = `arn:aws:iam::${ACCOUNT}:role/${roleOf('norole')}`;
      world.aws.admin.deny({ principal: '*', action: 'iam:CreateRole', resource });
      const calls = callsFromNow(world.aws);
      await start('norole');
      await expectRefused('norole', {
        reason: 'AccessDenied',
        part: 'IAMFargateRolesReady',
        words: `User: ${USER} is not authorized to perform: iam:CreateRole on resource: ${resource}`,
        event: 'Warning FailedIAMRoleCreation',
      });
      await expectOthersGoOn('norole');
      expect(calls.about('default_norole').filter(({ mutates }) => mutates)).to.deep.equal([]);
      world.aws.admin.allow({ action: 'iam:CreateRole' });
      await touch('norole');
      await world.ready('norole');
    });

    it('to attach a policy to that does not exist', async () => {
      await cluster('nopolicy');
      const arn = `arn:aws:iam::${ACCOUNT}:policy/missing`;
      await start('nopolicy', { roleAdditionalPolicies: [arn] });
      const object = await stops('nopolicy', 'Refused');
      expect(standing(object)).to.deep.equal(stalled('Refused'));
      expect(conditionOf(object, 'IAMFargateRolesReady')).to.include({ status: 'False', reason: 'Refused' });
      expect(messageOf(object, 'Ready')).to.contain(`Policy ${arn} does not exist or is not attachable.`);
      await world.patch('nopolicy', { spec: { roleAdditionalPolicies: null } });
      await world.ready('nopolicy');
    });

    it('to trust: somebody else’s role that Fargate may not assume is not tried, until it is mended', async () => {
      await cluster('mistrust');
      world.aws.admin.putRole({ name: 'mistrusting', trustPolicy: EC2_TRUST });
      const calls = callsFromNow(world.aws);
      await start('mistrust', { roleName: 'mistrusting' });
      const object = await stops('mistrust', 'RoleTrustInvalid');
      expect(standing(object)).to.deep.equal(stalled('RoleTrustInvalid'));
      expect(conditionOf(object, 'IAMFargateRolesReady')).to.include({ status: 'False', reason: 'RoleTrustInvalid' });
      expect(messageOf(object, 'Ready')).to.contain('"mistrusting"').and.to.contain('eks-fargate-pods.amazonaws.com');
      await world.event('mistrust', 'Warning RoleTrustInvalid');
      await expectOthersGoOn('mistrust');
      expect(calls.about('default_mistrust').filter(({ mutates }) => mutates)).to.deep.equal([]);
      await stranger.iam.send(new UpdateAssumeRolePolicyCommand({ RoleName: 'mistrusting', PolicyDocument: TRUST }));
      await world.ready('mistrust');
    });

    it('to find: the role that spec.roleARN names', async () => {
      await cluster('missing');
      await start('missing', { roleARN: `arn:aws:iam::${ACCOUNT}:role/missing` });
      const object = await stops('missing', 'RoleNotFound');
      expect(standing(object)).to.deep.equal(stalled('RoleNotFound'));
      await world.event('missing', 'Warning RoleNotFound');
      world.aws.admin.putRole({ name: 'missing', trustPolicy: TRUST });
      await world.ready('missing');
    });

    it('to show to EKS at once: a wait, not an error', async () => {
      const { admin } = world.aws;
      await cluster('slow-iam');
      admin.setConfig({ iam: { trustVisibleToEksMs: 1_500 } });
      await start('slow-iam');
      const object = await history.had('slow-iam', 'Ready', { status: 'False', reason: 'Propagating' });
      expect(standing(object)).to.deep.equal(waiting('Propagating'));
      await world.ready('slow-iam');
      admin.setConfig({ iam: { trustVisibleToEksMs: 0 } });
      expect((await world.events('slow-iam')).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
    });
  });

  describe('a name that is taken', () => {
    it('by somebody else’s profile: it stays as it is, no role is made, and its place is taken when it goes', async () => {
      const eks = await cluster('taken');
      world.aws.admin.putRole({ name: 'theirs', trustPolicy: TRUST });
      const theirs = world.aws.admin.putProfile({
        cluster: eks.name,
        name: 'default_taken',
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/theirs`,
        tags: { team: 'theirs' },
      });
      const calls = callsFromNow(world.aws);
      await start('taken');
      const object = await stops('taken', 'ProfileNotOwned');
      expect(standing(object)).to.deep.equal(stalled('ProfileNotOwned'));
      expect(conditionOf(object, 'EKSFargateProfileReady')).to.include({ status: 'False', reason: 'ProfileNotOwned' });
      expect(messageOf(object, 'Ready')).to.contain('"default_taken"');
      await world.event('taken', 'Warning ProfileNotOwned');
      await expectOthersGoOn('taken');
      expect(world.inAws.profile('default_taken')).to.deep.equal(theirs);
      expect(calls.about(roleOf('taken')).filter(({ mutates }) => mutates)).to.deep.equal([]);
      world.aws.admin.removeProfile({ cluster: eks.name, name: 'default_taken' });
      await world.ready('taken');
    });

    it('by somebody else’s role: it stays as it is, also when the object goes', async () => {
      await cluster('roletaken');
      const theirs = world.aws.admin.putRole({
        name: roleOf('roletaken'),
        trustPolicy: TRUST,
        tags: { team: 'theirs' },
      });
      await start('roletaken');
      const object = await stops('roletaken', 'RoleNotOwned');
      expect(standing(object)).to.deep.equal(stalled('RoleNotOwned'));
      expect(conditionOf(object, 'IAMFargateRolesReady')).to.include({ status: 'False', reason: 'RoleNotOwned' });
      await world.event('roletaken', 'Warning RoleNotOwned');
      await world.delete('roletaken');
      await world.gone('roletaken');
      expect(world.inAws.role(roleOf('roletaken'))).to.deep.equal(theirs);
    });
  });

  describe('a cluster that EKS does not know', () => {
    it('is said so, until it is there', async () => {
      const { name, subnets } = await cluster('nocluster');
      world.aws.admin.removeCluster({ name });
      await start('nocluster');
      const object = await stops('nocluster', 'EKSClusterNotFound');
      expect(standing(object)).to.deep.equal(stalled('EKSClusterNotFound'));
      expect(messageOf(object, 'Ready')).to.contain(`"${name}" in us-east-1`);
      world.aws.admin.createCluster({ name, subnets });
      await world.ready('nocluster');
    });
  });

  describe('a deletion that AWS refuses', () => {
    it('of the role, for an inline policy that somebody put there: it is named, and the deletion goes on without it', async () => {
      await cluster('inline');
      await start('inline');
      await world.ready('inline');
      const [RoleName, PolicyName] = [roleOf('inline'), 'by-hand'];
      await stranger.iam.send(new PutRolePolicyCommand({ RoleName, PolicyName, PolicyDocument: TRUST }));
      await world.delete('inline');
      const object = await world.condition('inline', 'Stalled', { status: 'True', reason: 'RoleBlocked' });
      expect(messageOf(object, 'Deleting')).to.contain(RoleName).and.to.contain('the inline policy "by-hand"');
      expect(world.inAws.profile('default_inline')).to.equal(undefined);
      await stranger.iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName }));
      await world.gone('inline');
    });
  });

  describe('what was tried again by itself', () => {
    it('came to its end', async () => {
      await Promise.all(['failed', 'updating'].map((name) => world.ready(name)));
      await world.gone('stays');
      const { status } = await world.ready('failed');
      expect(status).not.to.have.property('health');
      expect((await world.events('updating')).filter((event) => event.startsWith('Warning'))).to.deep.equal([]);
    });

    it('came to its end where a human had to act: with a change of the spec, or a new process, that knows of no refusal', async () => {
      await touch('denied');
      await world.ready('denied');
      await world.stopManager();
      await world.startManager();
      await world.gone('undeletable');
    });
  });

  // It denies what every create needs: those that are tried again by themselves have come to their end before.
  describe('any create that EKS refuses', () => {
    it('because EKS cannot see Fargate’s service-linked role with the caller’s permissions', async () => {
      await cluster('slr');
      const resource = '*AWSServiceRoleForAmazonEKSForFargate';
      world.aws.admin.deny({ principal: '*', action: 'iam:GetRole', resource });
      await start('slr');
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
