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
  PutRolePermissionsBoundaryCommand,
  PutRolePolicyCommand,
  RemoveRoleFromInstanceProfileCommand,
  DeleteRolePolicyCommand,
  TagRoleCommand,
  UntagRoleCommand,
  UpdateAssumeRolePolicyCommand,
} from '@aws-sdk/client-iam';
import { AssumeRoleCommand, GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { expect } from 'chai';
import { createRole, expectRefusal, fargateTrust } from './expect.ts';
import { type SdkKeys, type ConformanceScenario, scenario } from './scenario.ts';

const podPolicy = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
const otherAccount = '999999999999';

export const iamScenarios: readonly ConformanceScenario[] = [
  scenario('a role is created and read back, its trust policy URL-encoded', async (aws) => {
    const document = fargateTrust(aws);
    const created = await aws.iam.send(
      new CreateRoleCommand({
        RoleName: 'r',
        Path: '/team/',
        AssumeRolePolicyDocument: document,
        Description: 'a <b> & "c"',
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
      MaxSessionDuration: 3600,
    });
    expect(role?.RoleId).to.match(/^AROA[A-Z0-9]{17}$/);
    expect(role?.CreateDate).to.be.an.instanceOf(Date);
    expect(role?.Tags).to.deep.equal([{ Key: 'k', Value: 'ö v' }]);
    expect(decodeURIComponent(role?.AssumeRolePolicyDocument ?? '')).to.equal(document);
  }),

  scenario('a role name is taken once', async (aws) => {
    await createRole(aws, 'r');
    await expectRefusal(createRole(aws, 'r'), {
      name: 'EntityAlreadyExistsException',
      status: 409,
      message: 'Role with name r already exists.',
    });
  }),

  scenario('an unknown role is a NoSuchEntityException everywhere', async (aws) => {
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

  scenario('a managed policy must exist; attaching is idempotent, detaching is not', async (aws) => {
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

  scenario('a role with policies or in an instance profile is not deleted', async (aws) => {
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

  scenario('tags of a role are added, replaced and removed', async (aws) => {
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
    const { Role: role } = await aws.iam.send(new GetRoleCommand({ RoleName }));
    expect(role?.Tags).to.deep.equal([{ Key: 'a', Value: '2' }]);
  }),

  scenario('tag keys that differ only in case are one key', async (aws) => {
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

  scenario('the trust policy and boundary of a role are changed', async (aws) => {
    const RoleName = 'r';
    await createRole(aws, RoleName);
    const PolicyDocument = fargateTrust(aws).replace('eks-fargate-pods', 'ec2');
    await aws.iam.send(new UpdateAssumeRolePolicyCommand({ RoleName, PolicyDocument }));
    const boundary = 'arn:aws:iam::aws:policy/PowerUserAccess';
    await aws.iam.send(new PutRolePermissionsBoundaryCommand({ RoleName, PermissionsBoundary: boundary }));
    const changed = await aws.iam.send(new GetRoleCommand({ RoleName }));
    expect(decodeURIComponent(changed.Role?.AssumeRolePolicyDocument ?? '')).to.equal(PolicyDocument);
    expect(changed.Role?.PermissionsBoundary?.PermissionsBoundaryArn).to.equal(boundary);
    await aws.iam.send(new DeleteRolePermissionsBoundaryCommand({ RoleName }));
    const without = await aws.iam.send(new GetRoleCommand({ RoleName }));
    expect(without.Role?.PermissionsBoundary?.PermissionsBoundaryArn ?? null).to.equal(null);
  }),

  scenario('roles of another account are visible only after AssumeRole', async (aws) => {
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
];
