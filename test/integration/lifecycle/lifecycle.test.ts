import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { callsFromNow, withoutRepeats } from '../../world/aws/calls.ts';
import { expectDescribed } from '../../world/expect-described.ts';
import { summaryOf } from '../../world/object-state.ts';
import { type World, ACCOUNT, clusterPath, fargateProfile, startWorld } from '../../world/world.ts';
import { operationsOf } from '../../world/aws/operations.ts';

const FINALIZER = 'awsfargateprofile.infrastructure.cluster.x-k8s.io';
const EKS_POLICY = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';

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

describe('the lifecycle of an AWSFargateProfile with clusterName and selectors alone', () => {
  let world: World;
  let created: RawObject;
  before(async () => {
    world = await startWorld();
    await world.startManager();
  });
  after(() => world.finish());

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
    const { subnets = [] } = world.aws.admin.clusters().find(({ name }) => name === 'default_prod-control-plane') ?? {};
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

  it('is described by kubectl as the simulation does, also if it is stalled', async () => {
    await expectDescribed(world, 'web');
    const selectors = [{ namespace: 'a', labels: { app: 'b' } }, { namespace: 'c' }];
    await world.apply(fargateProfile('stalled', { selectors, roleARN: `arn:aws:iam::${ACCOUNT}:role/nowhere` }));
    await world.condition('stalled', 'Stalled', { status: 'True', reason: 'RoleNotFound' });
    await world.event('stalled', 'Warning RoleNotFound');
    await expectDescribed(world, 'stalled');
    await world.delete('stalled');
    await world.gone('stalled');
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
