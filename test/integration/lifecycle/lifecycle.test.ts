import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { callsFromNow, withoutRepeats } from '../../world/aws/calls.ts';
import { summaryOf } from '../../world/object-state.ts';
import type { World } from '../../world/world.ts';
import { ACCOUNT, clusterPath, fargateProfile, startWorld } from '../../world/world.ts';
import { holdChange, operationsOf } from '../../world/aws/operations.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const EKS_POLICY = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
const LOGS_POLICY = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';

/** The trust policy that AWS documents for a pod execution role. Its condition prevents the confused-deputy problem. */
const trustFor = (eksCluster: string): unknown => ({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Condition: {
        ArnLike: { 'aws:SourceArn': `arn:aws:eks:us-east-1:${ACCOUNT}:fargateprofile/${eksCluster}/*` },
      },
      Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
      Action: 'sts:AssumeRole',
    },
  ],
});

describe('the lifecycle of an AWSFargateProfile', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

  describe('with clusterName and selectors alone', () => {
    let created: RawObject;

    it('becomes Ready with twelve AWS calls and its polls', async () => {
      await world.createEksCluster('prod', { additionalTags: { stage: 'production' } });
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('web', { additionalTags: { team: 'shop' } }));
      created = await world.ready('web');
      expect(withoutRepeats(calls.lines())).to.deep.equal([
        'sts:GetCallerIdentity 200',
        'eks:DescribeFargateProfile 404 ResourceNotFoundException',
        'iam:GetRole 404 NoSuchEntity',
        'eks:DescribeCluster 200',
        'eks:DescribeAccessEntry 404 ResourceNotFoundException',
        'iam:CreateRole 200',
        'iam:AttachRolePolicy 200',
        'eks:CreateFargateProfile 200',
        'eks:DescribeFargateProfile 200',
        'iam:GetRole 200',
        'iam:ListAttachedRolePolicies 200',
        'eks:DescribeAccessEntry 200',
      ]);
    });

    it('names the Fargate profile as Cluster API Provider AWS does, with the tags of both providers', () => {
      const { subnets = [] } =
        world.aws.admin.clusters().find(({ name }) => name === 'default_prod-control-plane') ?? {};
      expect(world.awsView.profile('default_web')).to.deep.include({
        cluster: 'default_prod-control-plane',
        status: 'ACTIVE',
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/prod-default_web_fargate`,
        subnets: subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id),
        selectors: [{ namespace: 'default', labels: {} }],
        tags: {
          'kubernetes.io/cluster/prod': 'owned',
          'sigs.k8s.io/cluster-api-provider-aws-fargate/added': 'WCcjporduQjUpypRy2BLxZp8',
          'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'default/web',
          stage: 'production',
          team: 'shop',
        },
      });
    });

    it('has a role that Fargate can assume for this EKS cluster alone', () => {
      const role = world.awsView.role('prod-default_web_fargate');
      expect(role).to.deep.include({
        path: '/',
        attachedPolicies: [EKS_POLICY],
        inlinePolicies: [],
        tags: {
          'kubernetes.io/cluster/prod': 'owned',
          'sigs.k8s.io/cluster-api-provider-aws-fargate/added': 'WCcjporduQjUpypRy2BLxZp8',
          'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster': `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/default_prod-control-plane`,
          'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace': 'default',
          stage: 'production',
          team: 'shop',
        },
      });
      expect(role).not.to.have.property('permissionsBoundary');
      expect(JSON.parse(role?.trustPolicy ?? '')).to.deep.equal(trustFor('default_prod-control-plane'));
    });

    it('has the finalizer, the label and an owner reference to its Cluster; its spec is unchanged', async () => {
      const cluster = await world.controlPlane.api.get(clusterPath('prod'));
      expect(created.metadata.finalizers).to.deep.equal([FINALIZER]);
      expect(created.metadata.labels).to.deep.equal({ 'cluster.x-k8s.io/cluster-name': 'prod' });
      expect(created.metadata.ownerReferences).to.deep.equal([
        { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name: 'prod', uid: cluster.metadata.uid },
      ]);
      expect(created.spec).to.deep.equal({
        clusterName: 'prod',
        selectors: [{ namespace: 'default' }],
        additionalTags: { team: 'shop' },
        adoptionPolicy: 'Owned',
      });
    });

    it('reports in its status the profile and role in AWS', () => {
      const profile = world.awsView.profile('default_web');
      const role = world.awsView.role('prod-default_web_fargate');
      expect(summaryOf(created)).to.deep.equal({ Ready: 'True Ready', Reconciling: 'False', Stalled: 'False' });
      expect(created.status).to.deep.include({
        observedGeneration: 1,
        ready: true,
        initialization: { provisioned: true },
        account: ACCOUNT,
        region: 'us-east-1',
        eksClusterName: 'default_prod-control-plane',
        profileName: 'default_web',
        profileARN: profile?.arn,
        profileStatus: 'ACTIVE',
        podExecutionRoleARN: role?.arn,
        role: {
          name: 'prod-default_web_fargate',
          id: role?.id,
          accessEntryCheckedFor: role?.id,
          managed: true,
          attachedPolicies: [EKS_POLICY],
        },
        subnets: profile?.subnets,
      });
    });

    it('emits the creation events of Cluster API Provider AWS', async () => {
      expect(await world.event('web', 'SuccessfulCreate')).to.deep.equal([
        'Normal SuccessfulIAMRoleCreation: Created fargate IAM role "prod-default_web_fargate"',
        'Normal InitiatedCreateEKSFargateProfile: Started creating EKS fargate profile default_web',
        'Normal SuccessfulCreateEKSFargateProfile: Created new EKS fargate profile default_web',
      ]);
    });

    it('deletes the Fargate profile first, then the role, and leaves nothing behind', async () => {
      const calls = callsFromNow(world.aws);
      const roleTouchedUnderProfile: string[] = [];
      const forget = world.aws.onCall(({ service, operation, mutates }, phase) => {
        if (phase !== 'before' || service !== 'iam' || !mutates) return;
        const profile = world.awsView.profile('default_web');
        if (profile !== undefined) roleTouchedUnderProfile.push(`${operation} while ${profile.status}`);
      });
      await world.delete('web');
      await world.gone('web');
      forget();
      expect(roleTouchedUnderProfile).to.deep.equal([]);
      expect(operationsOf(calls)).to.deep.equal([
        'DeleteFargateProfile',
        'DetachRolePolicy',
        'DeleteAccessEntry',
        'DeleteRole',
      ]);
      expect(calls.failures()).to.deep.equal([]);
      expect(world.awsView.profile('default_web')).to.equal(undefined);
      expect(world.awsView.role('prod-default_web_fargate')).to.equal(undefined);
    });

    it('emits the deletion events', async () => {
      expect((await world.event('web', 'SuccessfulIAMRoleDeletion')).slice(3)).to.deep.equal([
        'Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile default_web',
        'Normal SuccessfulDeleteEKSFargateProfile: Deleted EKS fargate profile default_web',
        'Normal SuccessfulIAMRoleDeletion: Deleted fargate IAM role "prod-default_web_fargate"',
      ]);
    });
  });

  describe('in concurrent changes', () => {
    it('two objects of one cluster are created and deleted one after the other, without a refusal by EKS', async () => {
      await world.createEksCluster('pair');
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('a', { clusterName: 'pair' }), fargateProfile('b', { clusterName: 'pair' }));
      await Promise.all([world.ready('a'), world.ready('b')]);
      await Promise.all([world.delete('a'), world.delete('b')]);
      await Promise.all([world.gone('a'), world.gone('b')]);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('an object deleted during the creation of its profile is deleted as soon as EKS allows it', async () => {
      await world.createEksCluster('regret');
      const calls = callsFromNow(world.aws);
      const held = holdChange(world.aws, 'Create', 'default_regretted');
      await world.apply(fargateProfile('regretted', { clusterName: 'regret' }));
      const profile = await held;
      await world.delete('regretted');
      await world.condition('regretted', 'Deleting', { status: 'True', reason: 'WaitingForCreate' });
      world.aws.admin.setProfile({ ...profile, status: 'ACTIVE' });
      await world.gone('regretted');
      expect(calls.failures()).to.deep.equal([]);
      expect(world.awsView.role('regret-default_regretted_fargate')).to.equal(undefined);
    });

    it('an object deleted before its creation in AWS makes only reading AWS calls', async () => {
      await world.createEksCluster('unready', { ready: false });
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('early', { clusterName: 'unready' }));
      await world.condition('early', 'Ready', { status: 'False', reason: 'WaitingForEKSControlPlane' });
      await world.delete('early');
      await world.gone('early');
      expect(calls.mutations()).to.deep.equal([]);
      expect(calls.failures()).to.deep.equal([]);
    });
  });

  describe('with names in the spec', () => {
    it('uses the names and role settings of the spec, and deletes all of that again', async () => {
      const { subnets } = await world.createEksCluster('named');
      const boundary = world.aws.admin.putPolicy({ name: 'boundary' });
      const custom = world.aws.admin.putPolicy({ name: 'custom' });
      await world.apply(
        fargateProfile('named', {
          clusterName: 'named',
          profileName: 'batch',
          roleName: 'batch-pods',
          rolePath: '/teams/batch/',
          rolePermissionsBoundary: boundary,
          roleAdditionalPolicies: [custom, LOGS_POLICY],
          subnetIDs: [subnets[1]?.id],
          selectors: [{ namespace: 'batch-*', labels: { compute: 'fargate' } }],
        }),
      );
      const { status } = await world.ready('named');
      const roleArn = `arn:aws:iam::${ACCOUNT}:role/teams/batch/batch-pods`;
      expect(world.awsView.profile('batch')).to.deep.include({
        podExecutionRoleArn: roleArn,
        subnets: [subnets[1]?.id],
        selectors: [{ namespace: 'batch-*', labels: { compute: 'fargate' } }],
      });
      expect(world.awsView.role('batch-pods')).to.deep.include({
        arn: roleArn,
        path: '/teams/batch/',
        permissionsBoundary: boundary,
        attachedPolicies: [EKS_POLICY, custom, LOGS_POLICY],
      });
      expect(status).to.deep.include({ profileName: 'batch', podExecutionRoleARN: roleArn });

      await world.delete('named');
      await world.gone('named');
      expect(world.awsView.role('batch-pods')).to.equal(undefined);
      expect(world.awsView.profile('batch')).to.equal(undefined);
    });

    it('replaces too long names by a hash, as Cluster API Provider AWS does', async () => {
      const long = 'abcde'.repeat(20);
      await world.createEksCluster('my-very-long-cluster-name-for-production');
      await world.apply(
        fargateProfile(long, { clusterName: 'my-very-long-cluster-name-for-production' }),
        fargateProfile('w', {
          clusterName: 'my-very-long-cluster-name-for-production',
          profileName: 'default_my-very-long-profile-name',
        }),
      );
      const { status } = await world.ready(long);
      expect(status?.['profileName']).to.equal('capa_lw9gghk6oj4nkdbmthd0mplrnqe');
      expect((await world.ready('w')).status?.['role']).to.deep.include({ name: 'capa_10uyoudsbd1q75zvbl5fqtlamoi' });
      await Promise.all([world.delete(long), world.delete('w')]);
      await Promise.all([world.gone(long), world.gone('w')]);
    });
  });

  describe('with a role that it does not own alone', () => {
    for (const { how, spec } of [
      { how: 'by its ARN', spec: { roleARN: `arn:aws:iam::${ACCOUNT}:role/shared/everybodys` } },
      { how: 'by its name', spec: { roleName: 'everybodys' } },
    ])
      it(`uses another owner’s role that is named ${how}, and never changes it`, async () => {
        const cluster = `shared-${Object.keys(spec)[0]?.toLowerCase()}`;
        await world.createEksCluster(cluster);
        world.aws.admin.putRole({
          name: 'everybodys',
          path: '/shared/',
          trustPolicy: JSON.stringify(trustFor('*')),
          tags: { owner: 'platform' },
        });
        const before = world.awsView.role('everybodys');
        const calls = callsFromNow(world.aws);
        await world.apply(fargateProfile(cluster, { clusterName: cluster, ...spec }));
        const { status } = await world.ready(cluster);
        expect(status).to.deep.include({ podExecutionRoleARN: before?.arn });
        expect(status?.['role']).to.deep.include({ name: 'everybodys', managed: false });
        await world.delete(cluster);
        await world.gone(cluster);
        expect(world.awsView.role('everybodys')).to.deep.equal(before);
        expect(operationsOf(calls)).to.deep.equal(['CreateFargateProfile', 'DeleteFargateProfile']);
      });

    it('a role that two objects share is deleted with the last of them', async () => {
      await world.createEksCluster('sharing');
      const share = { clusterName: 'sharing', roleName: 'sharing-pods' };
      await world.apply(fargateProfile('first', share), fargateProfile('second', share));
      await Promise.all([world.ready('first'), world.ready('second')]);
      const id = world.awsView.role('sharing-pods')?.id;
      await world.delete('first');
      await world.gone('first');
      expect(world.awsView.role('sharing-pods')?.id).to.equal(id);
      await world.delete('second');
      await world.gone('second');
      expect(world.awsView.role('sharing-pods')).to.equal(undefined);
    });
  });

  describe('with deletionPolicy Retain', () => {
    before(() => world.createEksCluster('kept'));

    it('is deleted without an AWS call, and its resources stay unchanged', async () => {
      await world.apply(fargateProfile('kept', { clusterName: 'kept', deletionPolicy: 'Retain' }));
      const { metadata } = await world.ready('kept');
      expect(metadata.annotations).to.have.property('aws-fargate.cluster.x-k8s.io/retain');
      const [profile, role] = [world.awsView.profile('default_kept'), world.awsView.role('kept-default_kept_fargate')];
      expect(profile).not.to.equal(undefined);
      expect(role).not.to.equal(undefined);
      const calls = callsFromNow(world.aws);
      await world.delete('kept');
      await world.gone('kept');
      await world.event(
        'kept',
        'Normal RetainedEKSFargateProfile: The controller leaves EKS fargate profile default_kept and its IAM role in AWS',
      );
      expect(calls.lines()).to.deep.equal([]);
      expect(world.awsView.profile('default_kept')).to.deep.equal(profile);
      expect(world.awsView.role('kept-default_kept_fargate')).to.deep.equal(role);
    });

    it('a new object of the same name adopts the retained profile and creates nothing', async () => {
      const { arn } = world.awsView.profile('default_kept') ?? {};
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('kept', { clusterName: 'kept', deletionPolicy: 'Delete' }));
      const { status } = await world.ready('kept');
      expect(status).to.deep.include({ profileARN: arn });
      expect(calls.mutations()).to.deep.equal([]);
      await world.delete('kept');
      await world.gone('kept');
    });
  });

  describe('after a restart of the manager', () => {
    it('finds its profile again, and a settled object causes no AWS call', async () => {
      await world.createEksCluster('rest');
      await world.apply(fargateProfile('rest', { clusterName: 'rest' }));
      const { metadata } = await world.ready('rest');
      const calls = callsFromNow(world.aws);
      await world.stopManager();
      // A resync during this test would call AWS, so the sync period is longer than the test.
      await world.startManager({ flags: ['--sync-period', '100h'] });
      // The restarted manager starts to reconcile after an unknown time. When it has made another AWSFargateProfile
      // Ready, it has also had the time to call AWS for the AWSFargateProfile `rest`.
      await world.createEksCluster('after');
      await world.apply(fargateProfile('after', { clusterName: 'after' }));
      await world.ready('after');
      expect(calls.about('default_rest')).to.deep.equal([]);
      expect((await world.profile('rest'))?.metadata.resourceVersion).to.equal(metadata.resourceVersion);
    });
  });
});
