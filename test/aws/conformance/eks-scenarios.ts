import {
  CreateAccessEntryCommand,
  CreateClusterCommand,
  CreateFargateProfileCommand,
  DeleteAccessEntryCommand,
  DeleteClusterCommand,
  DeleteFargateProfileCommand,
  DescribeAccessEntryCommand,
  DescribeClusterCommand,
  DescribeFargateProfileCommand,
  ListFargateProfilesCommand,
  ListTagsForResourceCommand,
  TagResourceCommand,
  UntagResourceCommand,
} from '@aws-sdk/client-eks';
import { expect } from 'chai';
import { createCluster, createRole, expectRefusal, profileInput, untilGone, untilStatus } from './expect.ts';
import { type ConformanceAws, type ConformanceScenario, both, emulatorOnly } from './scenario.ts';

const noEntries = 'moto has no access entries';
const lifecycle = 'moto has no lifecycle: profiles are ACTIVE at once and gone at once';

async function createProfile(aws: ConformanceAws, roleArn: string, name: string): Promise<void> {
  await aws.eks.send(new CreateFargateProfileCommand(profileInput(aws, roleArn, name)));
  await untilStatus(aws, name, 'ACTIVE');
}

export const eksScenarios: readonly ConformanceScenario[] = [
  both('a profile is created, described, listed and deleted', async (aws) => {
    await createCluster(aws);
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

  both('an unknown cluster is named in a ResourceNotFoundException', async (aws) => {
    const notFound = { name: 'ResourceNotFoundException', status: 404, message: 'No cluster found for name: nope.' };
    const input = { ...profileInput(aws, 'arn:aws:iam::123456789012:role/r'), clusterName: 'nope' };
    await expectRefusal(aws.eks.send(new CreateFargateProfileCommand(input)), notFound);
    await expectRefusal(aws.eks.send(new DescribeFargateProfileCommand(input)), notFound);
    await expectRefusal(aws.eks.send(new DeleteFargateProfileCommand(input)), notFound);
    await expectRefusal(aws.eks.send(new DescribeClusterCommand({ name: 'nope' })), notFound);
    await expectRefusal(aws.eks.send(new DeleteClusterCommand({ name: 'nope' })), notFound);
  }),

  both('an unknown profile is named in a ResourceNotFoundException', async (aws) => {
    await createCluster(aws);
    const which = { clusterName: 'c', fargateProfileName: 'nope' };
    const notFound = {
      name: 'ResourceNotFoundException',
      status: 404,
      message: 'No Fargate Profile found with name: nope.',
    };
    await expectRefusal(aws.eks.send(new DescribeFargateProfileCommand(which)), notFound);
    await expectRefusal(aws.eks.send(new DeleteFargateProfileCommand(which)), notFound);
  }),

  both('a profile name is unique', async (aws) => {
    await createCluster(aws);
    const input = profileInput(aws, await createRole(aws));
    await createProfile(aws, input.podExecutionRoleArn, 'p');
    await expectRefusal(aws.eks.send(new CreateFargateProfileCommand(input)), {
      name: 'ResourceInUseException',
      status: 409,
      message: 'A Fargate Profile already exists with this name in this cluster.',
    });
  }),

  both('a profile needs selectors with a namespace and at most five labels', async (aws) => {
    await createCluster(aws);
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

  both('profile lists are paged', async (aws) => {
    await createCluster(aws);
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

  both('a profile name may have any letters, which are percent-encoded in paths', async (aws) => {
    await createCluster(aws);
    await createProfile(aws, await createRole(aws), 'Profíl-ß_1');
    const listed = await aws.eks.send(new ListFargateProfilesCommand({ clusterName: 'c' }));
    expect(listed.fargateProfileNames).to.deep.equal(['Profíl-ß_1']);
  }),

  both('a cluster is created once, described and deleted', async (aws) => {
    await createCluster(aws);
    await expectRefusal(createCluster(aws), {
      name: 'ResourceInUseException',
      status: 409,
      message: 'Cluster already exists with name: c',
    });
    const { cluster } = await aws.eks.send(new DescribeClusterCommand({ name: 'c' }));
    expect(cluster).to.include({ name: 'c', arn: `arn:aws:eks:${aws.region}:${aws.account}:cluster/c` });
    expect(cluster?.resourcesVpcConfig?.subnetIds).to.deep.equal(aws.subnets);
    await aws.eks.send(new DeleteClusterCommand({ name: 'c' }));
  }),

  both('a cluster is tagged by its ARN', async (aws) => {
    await createCluster(aws);
    const resourceArn = `arn:aws:eks:${aws.region}:${aws.account}:cluster/c`;
    await aws.eks.send(new TagResourceCommand({ resourceArn, tags: { a: '1', 'b/c': 'ä =' } }));
    await aws.eks.send(new UntagResourceCommand({ resourceArn, tagKeys: ['a', 'absent'] }));
    const { tags } = await aws.eks.send(new ListTagsForResourceCommand({ resourceArn }));
    expect(tags).to.deep.equal({ 'b/c': 'ä =' });
  }),

  both('regions are separate', async (aws) => {
    await createCluster(aws);
    const elsewhere = aws.as({ region: 'ap-southeast-2' });
    await expectRefusal(elsewhere.eks.send(new DescribeClusterCommand({ name: 'c' })), {
      name: 'ResourceNotFoundException',
      status: 404,
    });
  }),

  emulatorOnly(
    'a list of profiles needs an existing cluster',
    'moto answers with a page of HTML and 500',
    async (aws) => {
      await expectRefusal(aws.eks.send(new ListFargateProfilesCommand({ clusterName: 'nope' })), {
        name: 'ResourceNotFoundException',
        status: 404,
        message: 'No cluster found for name: nope.',
      });
    },
  ),

  emulatorOnly('a profile is tagged by its ARN', 'moto fails on tags of fargate profiles', async (aws) => {
    await createCluster(aws);
    await createProfile(aws, await createRole(aws), 'p');
    const { fargateProfile } = await aws.eks.send(
      new DescribeFargateProfileCommand({ clusterName: 'c', fargateProfileName: 'p' }),
    );
    const resourceArn = fargateProfile?.fargateProfileArn ?? '';
    await aws.eks.send(new TagResourceCommand({ resourceArn, tags: { a: '1', 'b/c': 'ä =' } }));
    await aws.eks.send(new UntagResourceCommand({ resourceArn, tagKeys: ['a', 'absent'] }));
    const { tags } = await aws.eks.send(new ListTagsForResourceCommand({ resourceArn }));
    expect(tags).to.deep.equal({ 'b/c': 'ä =' });
    await expectRefusal(aws.eks.send(new TagResourceCommand({ resourceArn: `${resourceArn}0`, tags: { a: '1' } })), {
      name: 'NotFoundException',
      status: 404,
    });
  }),

  emulatorOnly('an access entry is created, described and deleted', noEntries, async (aws) => {
    await createCluster(aws, { mode: 'API' });
    const principalArn = await createRole(aws);
    const which = { clusterName: 'c', principalArn };
    const missing = { name: 'ResourceNotFoundException', status: 404 };
    await expectRefusal(aws.eks.send(new DescribeAccessEntryCommand(which)), missing);
    await expectRefusal(aws.eks.send(new DeleteAccessEntryCommand(which)), missing);
    await aws.eks.send(new CreateAccessEntryCommand({ ...which, type: 'FARGATE_LINUX' }));
    const { accessEntry } = await aws.eks.send(new DescribeAccessEntryCommand(which));
    expect(accessEntry).to.include({ ...which, type: 'FARGATE_LINUX', username: 'system:node:{{SessionName}}' });
    expect(accessEntry?.createdAt).to.be.an.instanceOf(Date);
    await expectRefusal(aws.eks.send(new CreateAccessEntryCommand({ ...which, type: 'FARGATE_LINUX' })), {
      name: 'ResourceInUseException',
      status: 409,
    });
    await aws.eks.send(new DeleteAccessEntryCommand(which));
    await expectRefusal(aws.eks.send(new DescribeAccessEntryCommand(which)), missing);
  }),

  emulatorOnly('a new profile gets an access entry for its role', noEntries, async (aws) => {
    await createCluster(aws, { mode: 'API' });
    const principalArn = await createRole(aws);
    await createProfile(aws, principalArn, 'p');
    const { accessEntry } = await aws.eks.send(new DescribeAccessEntryCommand({ clusterName: 'c', principalArn }));
    expect(accessEntry).to.include({ principalArn, type: 'FARGATE_LINUX' });
  }),

  emulatorOnly('a cluster of the mode CONFIG_MAP has no access entries', noEntries, async (aws) => {
    await createCluster(aws, { mode: 'CONFIG_MAP' });
    const which = { clusterName: 'c', principalArn: await createRole(aws) };
    const refusal = { name: 'InvalidRequestException', status: 400 };
    await expectRefusal(aws.eks.send(new DescribeAccessEntryCommand(which)), refusal);
    await expectRefusal(aws.eks.send(new CreateAccessEntryCommand({ ...which, type: 'FARGATE_LINUX' })), refusal);
    await expectRefusal(aws.eks.send(new DeleteAccessEntryCommand(which)), refusal);
  }),

  emulatorOnly('a profile is CREATING, ACTIVE, DELETING, gone', lifecycle, async (aws) => {
    await aws.admin.setConfig({ eks: { createMs: 100, deleteMs: 100 } });
    await createCluster(aws);
    const input = profileInput(aws, await createRole(aws));
    const created = await aws.eks.send(new CreateFargateProfileCommand(input));
    expect(created.fargateProfile?.status).to.equal('CREATING');
    await untilStatus(aws, 'p', 'ACTIVE');
    const deleted = await aws.eks.send(new DeleteFargateProfileCommand(input));
    expect(deleted.fargateProfile?.status).to.equal('DELETING');
    await untilGone(aws, 'p');
  }),

  emulatorOnly('a failed create shows its health issues', lifecycle, async (aws) => {
    const issue = { code: 'AccessDenied', message: 'no <way> & "so"', resourceIds: ['r'] };
    await aws.admin.planFailure({ operation: 'create', issues: [issue] });
    await createCluster(aws);
    await aws.eks.send(new CreateFargateProfileCommand(profileInput(aws, await createRole(aws))));
    const profile = await untilStatus(aws, 'p', 'CREATE_FAILED');
    expect(profile.health?.issues).to.deep.equal([issue]);
  }),

  emulatorOnly('a cluster takes one mutation of profiles at a time', lifecycle, async (aws) => {
    await aws.admin.setConfig({ eks: { createMs: 60_000 } });
    await createCluster(aws);
    const roleArn = await createRole(aws);
    await aws.eks.send(new CreateFargateProfileCommand(profileInput(aws, roleArn, 'one')));
    const busy = { name: 'ResourceInUseException', status: 409 };
    await expectRefusal(aws.eks.send(new CreateFargateProfileCommand(profileInput(aws, roleArn, 'two'))), {
      ...busy,
      message:
        'Cannot create Fargate Profile two because cluster c currently has Fargate profile one in status CREATING',
    });
    await expectRefusal(
      aws.eks.send(new DeleteFargateProfileCommand({ clusterName: 'c', fargateProfileName: 'one' })),
      busy,
    );
  }),

  emulatorOnly('a cluster with profiles is not deleted', 'moto counts node groups only', async (aws) => {
    await createCluster(aws);
    await createProfile(aws, await createRole(aws), 'p');
    await expectRefusal(aws.eks.send(new DeleteClusterCommand({ name: 'c' })), {
      name: 'ResourceInUseException',
      status: 409,
      message: 'Cluster has Fargate Profiles in ACTIVE/CREATING state',
    });
  }),

  emulatorOnly('the same clientRequestToken is the same request', 'moto ignores the token', async (aws) => {
    await createCluster(aws);
    const input = { ...profileInput(aws, await createRole(aws)), clientRequestToken: 'token' };
    const first = await aws.eks.send(new CreateFargateProfileCommand(input));
    const again = await aws.eks.send(new CreateFargateProfileCommand(input));
    expect(again.fargateProfile?.fargateProfileArn).to.equal(first.fargateProfile?.fargateProfileArn);
  }),

  emulatorOnly('names are checked', 'moto accepts any name', async (aws) => {
    await createCluster(aws);
    const input = profileInput(aws, await createRole(aws), 'eks-p');
    await expectRefusal(aws.eks.send(new CreateFargateProfileCommand(input)), {
      name: 'InvalidParameterException',
      status: 400,
      message: "The fargate profile name starts with the reserved prefix: 'eks-'.",
    });
  }),

  emulatorOnly('the trust policy of the role is checked', 'moto accepts any role', async (aws) => {
    await createCluster(aws);
    const trust = JSON.stringify({
      Version: '2012-10-17',
      Statement: { Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: 'sts:AssumeRole' },
    });
    const input = profileInput(aws, await createRole(aws, 'pods', trust));
    await expectRefusal(aws.eks.send(new CreateFargateProfileCommand(input)), {
      name: 'InvalidParameterException',
      status: 400,
      message:
        'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal',
    });
  }),

  emulatorOnly('subnets must exist', 'moto accepts any subnet', async (aws) => {
    await expectRefusal(
      aws.eks.send(
        new CreateClusterCommand({
          name: 'c',
          roleArn: `arn:aws:iam::${aws.account}:role/cluster`,
          resourcesVpcConfig: { subnetIds: ['subnet-nope'] },
        }),
      ),
      { name: 'InvalidParameterException', status: 400 },
    );
  }),

  emulatorOnly('a fast caller is throttled', 'moto never throttles', async (aws) => {
    await aws.admin.setConfig({ throttle: { perSecond: 0, burst: 1 } });
    const describe = async () => aws.eks.send(new DescribeClusterCommand({ name: 'c' }));
    await expectRefusal(describe(), { name: 'ResourceNotFoundException', status: 404 });
    await expectRefusal(describe(), { name: 'ThrottlingException', status: 429, message: 'Rate exceeded' });
  }),
];
