import { expect } from 'chai';
import type { RawObject } from '../../envtest/clients/api.ts';
import { callsFromNow, withoutRepeats } from '../../world/aws/calls.ts';
import { summaryOf } from '../../world/object-state.ts';
import { ACCOUNT, fargateProfile, useWorld } from '../../world/world.ts';

const EKS_POLICY = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';

// The simulation (ready.golden, lifecycle.test.ts) checks the metadata, conditions, Events, the role, and the order of
// the calls.
describe('the lifecycle of an AWSFargateProfile with clusterName and selectors alone', () => {
  const world = useWorld();
  let created: RawObject;
  before(async () => {
    await world.startManager();
  });

  it('becomes Ready with twelve AWS calls and its polls', async () => {
    await world.createEksCluster('prod', { additionalTags: { stage: 'production' } });
    const calls = callsFromNow(world.aws);
    await world.apply(fargateProfile('web', { additionalTags: { team: 'shop' } }));
    created = await world.ready('web');
    expect(withoutRepeats(calls.lines())).to.deep.equal([
      'sts:GetCallerIdentity 200',
      'eks:ListFargateProfiles 200',
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
        managed: true,
        attachedPolicies: [EKS_POLICY],
      },
      subnets: profile?.subnets,
    });
  });

  it('leaves nothing behind', async () => {
    const calls = callsFromNow(world.aws);
    await world.delete('web');
    await world.gone('web');
    expect(calls.failures()).to.deep.equal([]);
    expect(world.awsView.profile('default_web')).to.equal(undefined);
    expect(world.awsView.role('prod-default_web_fargate')).to.equal(undefined);
  });
});
