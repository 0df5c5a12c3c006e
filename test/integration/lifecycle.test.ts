import { expect } from 'chai';
import type { CallRecord } from '../aws/call-log.ts';
import type { KubeObject } from '../envtest/api.ts';
import { callsFromNow, withoutRepeats } from '../world/calls.ts';
import { eventually } from '../support/eventually.ts';
import { standing } from '../world/standing.ts';
import type { World } from '../world/world.ts';
import { ACCOUNT, clusterPath, fargateProfile, startWorld } from '../world/world.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const EKS_POLICY = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
const LOGS_POLICY = 'arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy';

/** As AWS documents it for pod execution roles, with the condition against the confused deputy. */
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

const applied = (calls: readonly CallRecord[]): readonly string[] => calls.map(({ operation }) => operation);

describe('the life of an AWSFargateProfile', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

  describe('with nothing named but cluster and selectors', () => {
    let created: KubeObject;

    it('becomes Ready with nine calls to AWS and its polls', async () => {
      await world.createEksCluster('prod', { additionalTags: { stage: 'production' } });
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('web', { additionalTags: { team: 'shop' } }));
      created = await world.ready('web');
      expect(withoutRepeats(calls.lines())).to.deep.equal([
        'sts:GetCallerIdentity 200',
        'eks:DescribeFargateProfile 404 ResourceNotFoundException',
        'iam:GetRole 404 NoSuchEntity',
        'iam:CreateRole 200',
        'iam:AttachRolePolicy 200',
        'eks:CreateFargateProfile 200',
        'eks:DescribeFargateProfile 200',
        'iam:GetRole 200',
        'iam:ListAttachedRolePolicies 200',
      ]);
    });

    it('has a profile in EKS under the name that Cluster API Provider AWS gives it, with tags of both sides', () => {
      const { subnets = [] } =
        world.aws.admin.clusters().find(({ name }) => name === 'default_prod-control-plane') ?? {};
      expect(world.inAws.profile('default_web')).to.deep.include({
        cluster: 'default_prod-control-plane',
        status: 'ACTIVE',
        podExecutionRoleArn: `arn:aws:iam::${ACCOUNT}:role/prod-default_web_fargate`,
        subnets: subnets.filter(({ isPublic }) => !isPublic).map(({ id }) => id),
        selectors: [{ namespace: 'default', labels: {} }],
        tags: {
          'kubernetes.io/cluster/prod': 'owned',
          'sigs.k8s.io/cluster-api-provider-aws-fargate/owner': 'default/web',
          stage: 'production',
          team: 'shop',
        },
      });
    });

    it('has a role of its own, which Fargate may assume for this EKS cluster alone', () => {
      const role = world.inAws.role('prod-default_web_fargate');
      expect(role).to.deep.include({
        path: '/',
        attachedPolicies: [EKS_POLICY],
        inlinePolicies: [],
        tags: {
          'kubernetes.io/cluster/prod': 'owned',
          'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster': `arn:aws:eks:us-east-1:${ACCOUNT}:cluster/default_prod-control-plane`,
          stage: 'production',
          team: 'shop',
        },
      });
      expect(role).not.to.have.property('permissionsBoundary');
      expect(JSON.parse(role?.trustPolicy ?? '')).to.deep.equal(trustFor('default_prod-control-plane'));
    });

    it('carries the finalizer, the label and one owner reference, to its Cluster; its spec is as it was applied', async () => {
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

    it('says in its status what is in AWS', () => {
      const profile = world.inAws.profile('default_web');
      const role = world.inAws.role('prod-default_web_fargate');
      expect(standing(created)).to.deep.equal({ Ready: 'True Ready', Reconciling: 'False', Stalled: 'False' });
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
        role: { name: 'prod-default_web_fargate', id: role?.id, managed: true, attachedPolicies: [EKS_POLICY] },
        subnets: profile?.subnets,
      });
    });

    it('has told its story in events, in the words of Cluster API Provider AWS', async () => {
      expect(await world.event('web', 'SuccessfulCreate')).to.deep.equal([
        'Normal SuccessfulIAMRoleCreation: Created fargate IAM role "prod-default_web_fargate"',
        'Normal InitiatedCreateEKSFargateProfile: Started creating EKS fargate profile default_web',
        'Normal SuccessfulCreateEKSFargateProfile: Created new EKS fargate profile default_web',
      ]);
    });

    it('goes without a trace: the profile, and only once that is gone the role', async () => {
      const calls = callsFromNow(world.aws);
      const roleTouchedUnderProfile: string[] = [];
      const forget = world.aws.onCall(({ service, operation, mutates }, phase) => {
        if (phase !== 'before' || service !== 'iam' || !mutates) return;
        const profile = world.inAws.profile('default_web');
        if (profile !== undefined) roleTouchedUnderProfile.push(`${operation} while ${profile.status}`);
      });
      await world.delete('web');
      await world.gone('web');
      forget();
      expect(roleTouchedUnderProfile).to.deep.equal([]);
      expect(applied(calls.mutations())).to.deep.equal(['DeleteFargateProfile', 'DetachRolePolicy', 'DeleteRole']);
      expect(calls.failures()).to.deep.equal([]);
      expect(world.inAws.profile('default_web')).to.equal(undefined);
      expect(world.inAws.role('prod-default_web_fargate')).to.equal(undefined);
    });

    it('has told of its end too', async () => {
      expect((await world.event('web', 'SuccessfulIAMRoleDeletion')).slice(3)).to.deep.equal([
        'Normal InitiatedDeleteEKSFargateProfile: Started deleting EKS fargate profile default_web',
        'Normal SuccessfulDeleteEKSFargateProfile: Deleted EKS fargate profile default_web',
        'Normal SuccessfulIAMRoleDeletion: Deleted fargate IAM role "prod-default_web_fargate"',
      ]);
    });
  });

  describe('at odd moments', () => {
    it('two in one cluster come one after the other, without a refusal by EKS, and go so too', async () => {
      await world.createEksCluster('pair');
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('a', { clusterName: 'pair' }), fargateProfile('b', { clusterName: 'pair' }));
      await Promise.all([world.ready('a'), world.ready('b')]);
      await Promise.all([world.delete('a'), world.delete('b')]);
      await Promise.all([world.gone('a'), world.gone('b')]);
      expect(calls.failures()).to.deep.equal([]);
    });

    it('goes while it is still being created, as soon as EKS lets it', async () => {
      await world.createEksCluster('regret');
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('regretted', { clusterName: 'regret' }));
      await eventually(() => world.inAws.profile('default_regretted')?.status === 'CREATING', { intervalMs: 5 });
      await world.delete('regretted');
      await world.gone('regretted');
      expect(calls.failures()).to.deep.equal([]);
      expect(world.inAws.role('regret-default_regretted_fargate')).to.equal(undefined);
    });

    it('a deletion that the API server takes before anything is in AWS asks nothing of AWS but whether there is something', async () => {
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

  describe('with names of the spec', () => {
    it('takes the names and the role settings of the spec, and removes all of that again', async () => {
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
      expect(world.inAws.profile('batch')).to.deep.include({
        podExecutionRoleArn: roleArn,
        subnets: [subnets[1]?.id],
        selectors: [{ namespace: 'batch-*', labels: { compute: 'fargate' } }],
      });
      expect(world.inAws.role('batch-pods')).to.deep.include({
        arn: roleArn,
        path: '/teams/batch/',
        permissionsBoundary: boundary,
        attachedPolicies: [EKS_POLICY, custom, LOGS_POLICY],
      });
      expect(status).to.deep.include({ profileName: 'batch', podExecutionRoleARN: roleArn });

      await world.delete('named');
      await world.gone('named');
      expect(world.inAws.role('batch-pods')).to.equal(undefined);
      expect(world.inAws.profile('batch')).to.equal(undefined);
    });

    it('names by a hash what is too long, as Cluster API Provider AWS does', async () => {
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

  describe('with a role that is not its own alone', () => {
    for (const { how, spec } of [
      { how: 'by its ARN', spec: { roleARN: `arn:aws:iam::${ACCOUNT}:role/shared/everybodys` } },
      { how: 'by its name', spec: { roleName: 'everybodys' } },
    ])
      it(`uses somebody else’s role that is named ${how}, and never touches it`, async () => {
        const cluster = `shared-${Object.keys(spec)[0]?.toLowerCase()}`;
        await world.createEksCluster(cluster);
        world.aws.admin.putRole({
          name: 'everybodys',
          path: '/shared/',
          trustPolicy: JSON.stringify(trustFor('*')),
          tags: { owner: 'platform' },
        });
        const before = world.inAws.role('everybodys');
        const calls = callsFromNow(world.aws);
        await world.apply(fargateProfile(cluster, { clusterName: cluster, ...spec }));
        const { status } = await world.ready(cluster);
        expect(status).to.deep.include({ podExecutionRoleARN: before?.arn });
        expect(status?.['role']).to.deep.include({ name: 'everybodys', managed: false });
        await world.delete(cluster);
        await world.gone(cluster);
        expect(world.inAws.role('everybodys')).to.deep.equal(before);
        expect(applied(calls.mutations())).to.deep.equal(['CreateFargateProfile', 'DeleteFargateProfile']);
      });

    it('two that share a role take it along with the last of them', async () => {
      await world.createEksCluster('sharing');
      const share = { clusterName: 'sharing', roleName: 'sharing-pods' };
      await world.apply(fargateProfile('first', share), fargateProfile('second', share));
      await Promise.all([world.ready('first'), world.ready('second')]);
      const id = world.inAws.role('sharing-pods')?.id;
      await world.delete('first');
      await world.gone('first');
      expect(world.inAws.role('sharing-pods')?.id).to.equal(id);
      await world.delete('second');
      await world.gone('second');
      expect(world.inAws.role('sharing-pods')).to.equal(undefined);
    });
  });

  describe('with deletionPolicy Retain', () => {
    before(() => world.createEksCluster('kept'));

    it('is let go without a call to AWS, where everything stays as it was', async () => {
      await world.apply(fargateProfile('kept', { clusterName: 'kept', deletionPolicy: 'Retain' }));
      const { metadata } = await world.ready('kept');
      expect(metadata.annotations).to.have.property('aws-fargate.cluster.x-k8s.io/retain');
      const [profile, role] = [world.inAws.profile('default_kept'), world.inAws.role('kept-default_kept_fargate')];
      expect(profile).not.to.equal(undefined);
      expect(role).not.to.equal(undefined);
      const calls = callsFromNow(world.aws);
      await world.delete('kept');
      await world.gone('kept');
      await world.event(
        'kept',
        'Normal RetainedEKSFargateProfile: Left EKS fargate profile default_kept and its role in AWS',
      );
      expect(calls.lines()).to.deep.equal([]);
      expect(world.inAws.profile('default_kept')).to.deep.equal(profile);
      expect(world.inAws.role('kept-default_kept_fargate')).to.deep.equal(role);
    });

    it('an object of the same name finds it again, and makes nothing new', async () => {
      const { arn } = world.inAws.profile('default_kept') ?? {};
      const calls = callsFromNow(world.aws);
      await world.apply(fargateProfile('kept', { clusterName: 'kept', deletionPolicy: 'Delete' }));
      const { status } = await world.ready('kept');
      expect(status).to.deep.include({ profileARN: arn });
      expect(calls.mutations()).to.deep.equal([]);
      await world.delete('kept');
      await world.gone('kept');
    });
  });

  describe('over a restart of the manager', () => {
    it('finds its profiles again after a restart, and reads nothing of AWS for one that is at rest', async () => {
      await world.createEksCluster('rest');
      await world.apply(fargateProfile('rest', { clusterName: 'rest' }));
      const { metadata } = await world.ready('rest');
      const calls = callsFromNow(world.aws);
      await world.stopManager();
      // Its time for a comparison with AWS may come at any moment of this period.
      await world.startManager({ flags: ['--sync-period', '100h'] });
      // Another object is the proof that the new process works.
      await world.createEksCluster('after');
      await world.apply(fargateProfile('after', { clusterName: 'after' }));
      await world.ready('after');
      expect(calls.about('default_rest')).to.deep.equal([]);
      expect((await world.profile('rest'))?.metadata.resourceVersion).to.equal(metadata.resourceVersion);
    });
  });
});
