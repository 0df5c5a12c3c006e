import {
  CreateFargateProfileCommand,
  DeleteClusterCommand,
  DeleteFargateProfileCommand,
  DescribeClusterCommand,
  DescribeFargateProfileCommand,
  ListFargateProfilesCommand,
  TagResourceCommand,
  UntagResourceCommand,
} from '@aws-sdk/client-eks';
import { expect } from 'chai';
import { createRole, expectRefusal, profileInput, untilGone, untilStatus } from './expect.ts';
import { type ConformanceAws, type ConformanceScenario, scenario } from './scenario.ts';

async function createProfile(aws: ConformanceAws, roleArn: string, name: string): Promise<void> {
  await aws.eks.send(new CreateFargateProfileCommand(profileInput(aws, roleArn, name)));
  await untilStatus(aws, name, 'ACTIVE');
}

export const eksScenarios: readonly ConformanceScenario[] = [
  scenario('a profile is created, described, listed and deleted', async (aws) => {
    await aws.createCluster();
    const roleArn = await createRole(aws);
    const input = { ...profileInput(aws, roleArn), tags: { team: 'ö a/b' } };
    const created = await aws.eks.send(new CreateFargateProfileCommand(input));
    expect(created.fargateProfile).to.include({ clusterName: 'c', fargateProfileName: 'p' });
    const profile = await untilStatus(aws, 'p', 'ACTIVE');
    expect(profile).to.deep.include({ ...input, status: 'ACTIVE' });
    expect(profile.fargateProfileArn).to.match(
      new RegExp(`^arn:aws:eks:${aws.region}:${aws.account}:fargateprofile/c/p/[0-9a-f-]{36}$`),
    );
    expect(profile.createdAt).to.be.an.instanceOf(Date);
    const listed = await aws.eks.send(new ListFargateProfilesCommand({ clusterName: 'c' }));
    expect(listed.fargateProfileNames).to.deep.equal(['p']);
    expect(listed.nextToken ?? null).to.equal(null);
    await aws.eks.send(new DeleteFargateProfileCommand({ clusterName: 'c', fargateProfileName: 'p' }));
    await untilGone(aws, 'p');
  }),

  scenario('an unknown cluster is named in a ResourceNotFoundException', async (aws) => {
    const notFound = { name: 'ResourceNotFoundException', status: 404, message: 'No cluster found for name: nope.' };
    const input = { ...profileInput(aws, 'arn:aws:iam::123456789012:role/r'), clusterName: 'nope' };
    await expectRefusal(aws.eks.send(new CreateFargateProfileCommand(input)), notFound);
    await expectRefusal(aws.eks.send(new DescribeFargateProfileCommand(input)), notFound);
    await expectRefusal(aws.eks.send(new DeleteFargateProfileCommand(input)), notFound);
    await expectRefusal(aws.eks.send(new DescribeClusterCommand({ name: 'nope' })), notFound);
    await expectRefusal(aws.eks.send(new DeleteClusterCommand({ name: 'nope' })), notFound);
  }),

  scenario('an unknown profile is named in a ResourceNotFoundException', async (aws) => {
    await aws.createCluster();
    const which = { clusterName: 'c', fargateProfileName: 'nope' };
    const notFound = {
      name: 'ResourceNotFoundException',
      status: 404,
      message: 'No Fargate Profile found with name: nope.',
    };
    await expectRefusal(aws.eks.send(new DescribeFargateProfileCommand(which)), notFound);
    await expectRefusal(aws.eks.send(new DeleteFargateProfileCommand(which)), notFound);
  }),

  scenario('a profile name is unique', async (aws) => {
    await aws.createCluster();
    const input = profileInput(aws, await createRole(aws));
    await createProfile(aws, input.podExecutionRoleArn, 'p');
    await expectRefusal(aws.eks.send(new CreateFargateProfileCommand(input)), {
      name: 'ResourceInUseException',
      status: 409,
      message: 'A Fargate Profile already exists with this name in this cluster.',
    });
  }),

  scenario('a profile needs selectors with a namespace and at most five labels', async (aws) => {
    await aws.createCluster();
    const input = profileInput(aws, await createRole(aws));
    const refused = async (selectors: { namespace?: string; labels?: Record<string, string> }[], message: string) =>
      expectRefusal(aws.eks.send(new CreateFargateProfileCommand({ ...input, selectors })), {
        name: 'InvalidParameterException',
        status: 400,
        message,
      });
    await refused([], 'Fargate Profile requires at least one selector.');
    await refused(
      [{ labels: { a: 'b' } }],
      'Fargate Profile must have at least one selector with at least one namespace value.',
    );
    await refused(
      [{ namespace: 'a', labels: { a: '1', b: '2', c: '3', d: '4', e: '5', f: '6' } }],
      'Request contains Selector with more than 5 Label pairs',
    );
  }),

  scenario('profile lists are paged', async (aws) => {
    await aws.createCluster();
    const roleArn = await createRole(aws);
    for (const name of ['a', 'b', 'c']) await createProfile(aws, roleArn, name);
    const names: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await aws.eks.send(
        new ListFargateProfilesCommand({
          clusterName: 'c',
          maxResults: 2,
          ...(nextToken === undefined ? {} : { nextToken }),
        }),
      );
      expect(page.fargateProfileNames?.length).to.be.at.most(2);
      names.push(...(page.fargateProfileNames ?? []));
      nextToken = page.nextToken ?? undefined;
    } while (nextToken !== undefined);
    expect(names.toSorted()).to.deep.equal(['a', 'b', 'c']);
  }),

  scenario('a profile name may have any letters, which are percent-encoded in paths', async (aws) => {
    await aws.createCluster();
    await createProfile(aws, await createRole(aws), 'Profíl-ß_1');
    const listed = await aws.eks.send(new ListFargateProfilesCommand({ clusterName: 'c' }));
    expect(listed.fargateProfileNames).to.deep.equal(['Profíl-ß_1']);
  }),

  scenario('a cluster is described and deleted', async (aws) => {
    await aws.createCluster();
    const { cluster } = await aws.eks.send(new DescribeClusterCommand({ name: 'c' }));
    expect(cluster).to.include({ name: 'c', arn: `arn:aws:eks:${aws.region}:${aws.account}:cluster/c` });
    expect(cluster?.resourcesVpcConfig?.subnetIds).to.deep.equal(aws.subnets);
    await aws.eks.send(new DeleteClusterCommand({ name: 'c' }));
  }),

  scenario('a cluster is tagged by its ARN', async (aws) => {
    await aws.createCluster();
    const resourceArn = `arn:aws:eks:${aws.region}:${aws.account}:cluster/c`;
    await aws.eks.send(new TagResourceCommand({ resourceArn, tags: { a: '1', 'b/c': 'ä =' } }));
    await aws.eks.send(new UntagResourceCommand({ resourceArn, tagKeys: ['a', 'absent'] }));
    const { cluster } = await aws.eks.send(new DescribeClusterCommand({ name: 'c' }));
    expect(cluster?.tags).to.deep.equal({ 'b/c': 'ä =' });
  }),

  scenario('regions are separate', async (aws) => {
    await aws.createCluster();
    const elsewhere = aws.as({ region: 'ap-southeast-2' });
    await expectRefusal(elsewhere.eks.send(new DescribeClusterCommand({ name: 'c' })), {
      name: 'ResourceNotFoundException',
      status: 404,
    });
  }),
];
