import {
  AddRoleToInstanceProfileCommand,
  AttachRolePolicyCommand,
  CreateInstanceProfileCommand,
  CreateRoleCommand,
  DeleteRoleCommand,
  DeleteRolePermissionsBoundaryCommand,
  DetachRolePolicyCommand,
  GetRoleCommand,
  ListAttachedRolePoliciesCommand,
  ListInstanceProfilesForRoleCommand,
  ListRolePoliciesCommand,
  ListRoleTagsCommand,
  PutRolePermissionsBoundaryCommand,
  PutRolePolicyCommand,
  RemoveRoleFromInstanceProfileCommand,
  DeleteRolePolicyCommand,
  TagRoleCommand,
  UntagRoleCommand,
  UpdateAssumeRolePolicyCommand,
  UpdateRoleCommand,
} from '@aws-sdk/client-iam';
import { AssumeRoleCommand, GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { expect } from 'chai';
import { createRole, expectRefusal, fargateTrust } from './expect.ts';
import { type SdkKeys, type ConformanceScenario, both, emulatorOnly } from './scenario.ts';

const podPolicy = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
const otherAccount = '999999999999';

export const iamScenarios: readonly ConformanceScenario[] = [
  both('a role is created and read back, its trust policy URL-encoded', async (aws) => {
    const document = fargateTrust(aws);
    const created = await aws.iam.send(
      new CreateRoleCommand({
        RoleName: 'r',
        Path: '/team/',
        AssumeRolePolicyDocument: document,
        Description: 'a <b> & "c"',
        MaxSessionDuration: 7200,
        Tags: [{ Key: 'k', Value: 'ö v' }],
      }),
    );
    expect(created.Role?.AssumeRolePolicyDocument).to.match(/^%7B/);
    const { Role: role } = await aws.iam.send(new GetRoleCommand({ RoleName: 'r' }));
    expect(role).to.include({
      RoleName: 'r',
      Path: '/team/',
      Arn: `arn:aws:iam::${aws.account}:role/team/r`,
      Description: 'a <b> & "c"',
      MaxSessionDuration: 7200,
    });
    expect(role?.RoleId).to.match(/^AROA[A-Z0-9]{17}$/);
    expect(role?.CreateDate).to.be.an.instanceOf(Date);
    expect(role?.Tags).to.deep.equal([{ Key: 'k', Value: 'ö v' }]);
    expect(decodeURIComponent(role?.AssumeRolePolicyDocument ?? '')).to.equal(document);
  }),

  both('a role name is taken once', async (aws) => {
    await createRole(aws, 'r');
    await expectRefusal(createRole(aws, 'r'), {
      name: 'EntityAlreadyExistsException',
      status: 409,
      message: 'Role with name r already exists.',
    });
  }),

  both('an unknown role is a NoSuchEntityException everywhere', async (aws) => {
    const RoleName = 'nobody';
    const unknown = { name: 'NoSuchEntityException', status: 404 };
    // moto and IAM answer some operations with different error messages. The test checks the message only for GetRole,
    // and accepts the wording of IAM and of moto.
    await expectRefusal(aws.iam.send(new GetRoleCommand({ RoleName })), {
      ...unknown,
      message: /^(?:The role with name nobody cannot be found\.|Role nobody not found)$/,
    });
    await expectRefusal(aws.iam.send(new DeleteRoleCommand({ RoleName })), unknown);
    await expectRefusal(aws.iam.send(new AttachRolePolicyCommand({ RoleName, PolicyArn: podPolicy })), unknown);
    await expectRefusal(aws.iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn: podPolicy })), unknown);
    await expectRefusal(aws.iam.send(new ListAttachedRolePoliciesCommand({ RoleName })), unknown);
    await expectRefusal(aws.iam.send(new ListRolePoliciesCommand({ RoleName })), unknown);
    await expectRefusal(aws.iam.send(new TagRoleCommand({ RoleName, Tags: [{ Key: 'a', Value: '' }] })), unknown);
    await expectRefusal(
      aws.iam.send(new UpdateAssumeRolePolicyCommand({ RoleName, PolicyDocument: fargateTrust(aws) })),
      unknown,
    );
  }),

  both('a managed policy must exist; attaching is idempotent, detaching is not', async (aws) => {
    await createRole(aws, 'r');
    await expectRefusal(
      aws.iam.send(new AttachRolePolicyCommand({ RoleName: 'r', PolicyArn: 'arn:aws:iam::aws:policy/No' })),
      {
        name: 'NoSuchEntityException',
        status: 404,
        message: 'Policy arn:aws:iam::aws:policy/No does not exist or is not attachable.',
      },
    );
    await aws.iam.send(new AttachRolePolicyCommand({ RoleName: 'r', PolicyArn: podPolicy }));
    await aws.iam.send(new AttachRolePolicyCommand({ RoleName: 'r', PolicyArn: podPolicy }));
    const attached = await aws.iam.send(new ListAttachedRolePoliciesCommand({ RoleName: 'r' }));
    expect(attached.AttachedPolicies).to.deep.equal([
      { PolicyName: 'AmazonEKSFargatePodExecutionRolePolicy', PolicyArn: podPolicy },
    ]);
    await aws.iam.send(new DetachRolePolicyCommand({ RoleName: 'r', PolicyArn: podPolicy }));
    await expectRefusal(aws.iam.send(new DetachRolePolicyCommand({ RoleName: 'r', PolicyArn: podPolicy })), {
      name: 'NoSuchEntityException',
      status: 404,
      message: `Policy ${podPolicy} was not found.`,
    });
  }),

  both('a role with policies or in an instance profile is not deleted', async (aws) => {
    const RoleName = 'r';
    await createRole(aws, RoleName);
    const expectConflict = async (message: string) =>
      expectRefusal(aws.iam.send(new DeleteRoleCommand({ RoleName })), {
        name: 'DeleteConflictException',
        status: 409,
        message,
      });
    await aws.iam.send(new CreateInstanceProfileCommand({ InstanceProfileName: 'ip' }));
    await aws.iam.send(new AddRoleToInstanceProfileCommand({ InstanceProfileName: 'ip', RoleName }));
    const holders = await aws.iam.send(new ListInstanceProfilesForRoleCommand({ RoleName }));
    expect(holders.InstanceProfiles?.map(({ InstanceProfileName }) => InstanceProfileName)).to.deep.equal(['ip']);
    await expectConflict('Cannot delete entity, must remove roles from instance profile first.');
    await aws.iam.send(new RemoveRoleFromInstanceProfileCommand({ InstanceProfileName: 'ip', RoleName }));
    await aws.iam.send(new AttachRolePolicyCommand({ RoleName, PolicyArn: podPolicy }));
    await expectConflict('Cannot delete entity, must detach all policies first.');
    await aws.iam.send(new DetachRolePolicyCommand({ RoleName, PolicyArn: podPolicy }));
    const PolicyDocument = JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 's3:GetObject', Resource: '*' }],
    });
    await aws.iam.send(new PutRolePolicyCommand({ RoleName, PolicyName: 'inline', PolicyDocument }));
    const inline = await aws.iam.send(new ListRolePoliciesCommand({ RoleName }));
    expect(inline.PolicyNames).to.deep.equal(['inline']);
    await expectConflict('Cannot delete entity, must delete policies first.');
    await aws.iam.send(new DeleteRolePolicyCommand({ RoleName, PolicyName: 'inline' }));
    await aws.iam.send(new DeleteRoleCommand({ RoleName }));
    await expectRefusal(aws.iam.send(new GetRoleCommand({ RoleName })), { name: 'NoSuchEntityException', status: 404 });
  }),

  both('tags of a role are added, replaced and removed', async (aws) => {
    const RoleName = 'r';
    await createRole(aws, RoleName);
    await aws.iam.send(
      new TagRoleCommand({
        RoleName,
        Tags: [
          { Key: 'a', Value: '1' },
          { Key: 'b', Value: '' },
        ],
      }),
    );
    await aws.iam.send(new TagRoleCommand({ RoleName, Tags: [{ Key: 'a', Value: '2' }] }));
    await aws.iam.send(new UntagRoleCommand({ RoleName, TagKeys: ['b', 'absent'] }));
    const { Tags } = await aws.iam.send(new ListRoleTagsCommand({ RoleName }));
    expect(Tags).to.deep.equal([{ Key: 'a', Value: '2' }]);
  }),

  both('tag keys that differ only in case are one key', async (aws) => {
    await createRole(aws, 'r');
    const Tags = [
      { Key: 'a', Value: '1' },
      { Key: 'A', Value: '2' },
    ];
    await expectRefusal(aws.iam.send(new TagRoleCommand({ RoleName: 'r', Tags })), {
      name: 'InvalidInputException',
      status: 400,
      message: 'Duplicate tag keys found. Please note that Tag keys are case insensitive.',
    });
  }),

  both('the trust policy, description and boundary of a role are changed', async (aws) => {
    const RoleName = 'r';
    await createRole(aws, RoleName);
    const PolicyDocument = fargateTrust(aws).replace('eks-fargate-pods', 'ec2');
    await aws.iam.send(new UpdateAssumeRolePolicyCommand({ RoleName, PolicyDocument }));
    await aws.iam.send(new UpdateRoleCommand({ RoleName, Description: 'new' }));
    const boundary = 'arn:aws:iam::aws:policy/PowerUserAccess';
    await aws.iam.send(new PutRolePermissionsBoundaryCommand({ RoleName, PermissionsBoundary: boundary }));
    const changed = await aws.iam.send(new GetRoleCommand({ RoleName }));
    expect(decodeURIComponent(changed.Role?.AssumeRolePolicyDocument ?? '')).to.equal(PolicyDocument);
    expect(changed.Role?.Description).to.equal('new');
    expect(changed.Role?.PermissionsBoundary?.PermissionsBoundaryArn).to.equal(boundary);
    await aws.iam.send(new DeleteRolePermissionsBoundaryCommand({ RoleName }));
    const without = await aws.iam.send(new GetRoleCommand({ RoleName }));
    expect(without.Role?.PermissionsBoundary?.PermissionsBoundaryArn ?? null).to.equal(null);
  }),

  emulatorOnly('a trust policy must be JSON', 'moto accepts any text', async (aws) => {
    await expectRefusal(createRole(aws, 'r', '{'), { name: 'MalformedPolicyDocumentException', status: 400 });
  }),

  emulatorOnly('a role name is at most 64 characters', 'moto accepts any length', async (aws) => {
    const name = 'r'.repeat(65);
    await expectRefusal(createRole(aws, name), {
      name: 'ValidationError',
      status: 400,
      message: /at 'roleName' failed to satisfy constraint: Member must have length less than or equal to 64/,
    });
  }),

  both('roles of another account are visible only after AssumeRole', async (aws) => {
    const identity = await aws.sts.send(new GetCallerIdentityCommand({}));
    expect(identity.Account).to.equal(aws.account);
    const assumed = await aws.sts.send(
      new AssumeRoleCommand({ RoleArn: `arn:aws:iam::${otherAccount}:role/entry`, RoleSessionName: 'session' }),
    );
    expect(assumed.AssumedRoleUser?.Arn).to.equal(`arn:aws:sts::${otherAccount}:assumed-role/entry/session`);
    expect(assumed.Credentials?.Expiration).to.be.an.instanceOf(Date);
    const keys: SdkKeys = {
      accessKeyId: assumed.Credentials?.AccessKeyId ?? '',
      secretAccessKey: assumed.Credentials?.SecretAccessKey ?? '',
      sessionToken: assumed.Credentials?.SessionToken ?? '',
    };
    const there = aws.as({ keys });
    expect((await there.sts.send(new GetCallerIdentityCommand({}))).Account).to.equal(otherAccount);
    await createRole(aws, 'here');
    await expectRefusal(there.iam.send(new GetRoleCommand({ RoleName: 'here' })), {
      name: 'NoSuchEntityException',
      status: 404,
    });
    await there.iam.send(new CreateRoleCommand({ RoleName: 'here', AssumeRolePolicyDocument: fargateTrust(aws) }));
    expect((await there.iam.send(new GetRoleCommand({ RoleName: 'here' }))).Role?.Arn).to.equal(
      `arn:aws:iam::${otherAccount}:role/here`,
    );
  }),

  emulatorOnly('a list of instance profiles needs an existing role', 'moto answers with an empty list', async (aws) => {
    await expectRefusal(aws.iam.send(new ListInstanceProfilesForRoleCommand({ RoleName: 'nobody' })), {
      name: 'NoSuchEntityException',
      status: 404,
    });
  }),

  emulatorOnly('role names are unique ignoring case', 'moto compares case', async (aws) => {
    await createRole(aws, 'Mixed');
    await expectRefusal(createRole(aws, 'mixed'), { name: 'EntityAlreadyExistsException', status: 409 });
    expect((await aws.iam.send(new GetRoleCommand({ RoleName: 'MIXED' }))).Role?.RoleName).to.equal('Mixed');
  }),

  emulatorOnly('IAM lists are paged', 'moto has no configurable page size', async (aws) => {
    await aws.admin.setConfig({ iam: { maxPageSize: 1 } });
    await createRole(aws, 'r');
    for (const PolicyArn of [podPolicy, 'arn:aws:iam::aws:policy/ReadOnlyAccess']) {
      await aws.iam.send(new AttachRolePolicyCommand({ RoleName: 'r', PolicyArn }));
    }
    const first = await aws.iam.send(new ListAttachedRolePoliciesCommand({ RoleName: 'r' }));
    expect([first.IsTruncated, first.AttachedPolicies?.length]).to.deep.equal([true, 1]);
    const second = await aws.iam.send(
      new ListAttachedRolePoliciesCommand({ RoleName: 'r', Marker: first.Marker ?? '' }),
    );
    expect([second.IsTruncated, second.AttachedPolicies?.length]).to.deep.equal([false, 1]);
  }),

  emulatorOnly('an exceeded quota is LimitExceededException', 'moto has no quotas', async (aws) => {
    await aws.admin.setConfig({ iam: { maxRoles: 0 } });
    await expectRefusal(createRole(aws, 'r'), { name: 'LimitExceededException', status: 409 });
  }),

  emulatorOnly('permissions are checked', 'moto runs without permissions', async (aws) => {
    await aws.admin.deny({ principal: '*', action: 'iam:GetRole' });
    await expectRefusal(aws.iam.send(new GetRoleCommand({ RoleName: 'r' })), {
      name: 'AccessDenied',
      status: 403,
      message: /^User: arn:aws:iam::123456789012:user\/\S+ is not authorized to perform: iam:GetRole on resource: /,
    });
  }),

  emulatorOnly('unknown credentials are refused with the error of each service', 'moto accepts any', async (aws) => {
    const { iam, sts } = aws.as({ keys: { accessKeyId: 'AKIANOBODY', secretAccessKey: 'x' } });
    const refusal = { name: 'InvalidClientTokenId', status: 403 };
    await expectRefusal(iam.send(new GetRoleCommand({ RoleName: 'r' })), refusal);
    await expectRefusal(sts.send(new GetCallerIdentityCommand({})), refusal);
  }),

  emulatorOnly('AssumeRole checks the trust policy', 'moto accepts every caller', async (aws) => {
    const RoleArn = await createRole(aws, 'r');
    await expectRefusal(aws.sts.send(new AssumeRoleCommand({ RoleArn, RoleSessionName: 'session' })), {
      name: 'AccessDenied',
      status: 403,
    });
  }),
];
