import { expect } from 'chai';
import { account, ModelFixture, expectRefusal, fargateTrust } from '../model-fixture.ts';
import type { AwsError } from '../errors.ts';
import type { Input } from '../input.ts';

describe('creating EKS Fargate profiles', () => {
  let fixture: ModelFixture;
  const create = (input: Input): AwsError => fixture.refused('eks', 'CreateFargateProfile', input);

  beforeEach(() => {
    fixture = new ModelFixture();
  });

  describe('refusals of a create', () => {
    const messages: readonly (readonly [string, Input, string])[] = [
      [
        'a name with a dot',
        { fargateProfileName: 'a.b' },
        'The Fargate profile name parameter contains invalid characters. It should begin with letter or digit and can have any of the following characters: the set of Unicode letters, digits, hyphens and underscores.',
      ],
      [
        'a name of 101 characters',
        { fargateProfileName: 'ä'.repeat(101) },
        'The Fargate profile name parameter should not be greater than 100 characters.',
      ],
      [
        'a reserved prefix',
        { fargateProfileName: 'eks-a' },
        "The fargate profile name starts with the reserved prefix: 'eks-'.",
      ],
      [
        'six selectors',
        { selectors: Array.from({ length: 6 }, () => ({ namespace: 'a' })) },
        'Request contains more than 5 Selectors',
      ],
      ['a namespace in capitals', { selectors: [{ namespace: 'A' }] }, 'The namespace provided is invalid.'],
      [
        'a label key with a space',
        { selectors: [{ namespace: 'a', labels: { 'a b': 'c' } }] },
        'Selector label provided is invalid.',
      ],
      [
        'a public subnet',
        { subnets: ['subnet-public'] },
        'Subnet subnet-public provided in Fargate Profile is not a private subnet',
      ],
      ['an unknown subnet', { subnets: ['subnet-0'] }, "The subnet ID 'subnet-0' does not exist"],
      ['a subnet of another VPC', { subnets: ['subnet-far'] }, 'Subnet subnet-far is not in the VPC of cluster c'],
      [
        'a role that does not exist',
        { podExecutionRoleArn: `arn:aws:iam::${account}:role/nobody` },
        'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal',
      ],
    ];
    for (const [what, change, message] of messages) {
      it(what, () => {
        expectRefusal(create(fixture.profileInput('p', change)), 'InvalidParameterException', 400, message);
        expect(fixture.status('p')).to.equal(undefined);
      });
    }

    it('accepts wildcards in namespaces, label keys and label values', () => {
      const selectors = [{ namespace: 'team-*', labels: { 'app.example/na?e': '*-prod', '*': 'x' } }];
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('Ü-1_x', { selectors }));
    });

    it('a cluster that is not ACTIVE', () => {
      fixture.cluster.status = 'FAILED';
      expectRefusal(
        create(fixture.profileInput('p')),
        'InvalidRequestException',
        400,
        "Cluster 'c' is not in ACTIVE status",
      );
    });

    it('the eleventh profile', () => {
      for (let index = 0; index < 10; index += 1) fixture.createActive(`p${index}`);
      expectRefusal(
        create(fixture.profileInput('p10')),
        'ResourceLimitExceededException',
        400,
        'Fargate Profile limit exceeded for cluster.',
      );
    });

    it('uses the private subnets of the cluster when none are named', () => {
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p', { subnets: undefined }));
      expect(fixture.cluster.profiles.get('p')?.subnets).to.deep.equal(['subnet-a', 'subnet-b']);
    });

    it('a tag with the reserved prefix', () => {
      const error = create(fixture.profileInput('p', { tags: { 'aws:x': 'y' } }));
      expect([error.code, error.message]).to.deep.equal([
        'InvalidParameterException',
        "The tag key 'aws:x' begins with the reserved prefix 'aws:'.",
      ]);
    });
  });

  describe('the pod execution role', () => {
    const misconfigured =
      'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal';
    const trust = (change: Input): string => {
      const document = JSON.parse(fargateTrust) as { Statement: Input[] };
      return JSON.stringify({ ...document, Statement: [{ ...document.Statement[0], ...change }] });
    };
    const setTrust = (document: string): void => {
      fixture.run('iam', 'UpdateAssumeRolePolicy', { RoleName: 'pods', PolicyDocument: document });
    };
    const sourceArn = (arn: string): Input => ({ Condition: { ArnLike: { 'aws:SourceArn': arn } } });

    it('must trust Fargate for this cluster', () => {
      const wrong = [
        trust({ Principal: { Service: 'ec2.amazonaws.com' } }),
        trust({ Effect: 'Deny' }),
        trust(sourceArn(`arn:aws:eks:eu-west-1:${account}:fargateprofile/other/*`)),
        trust(sourceArn(`arn:aws:eks:us-east-1:${account}:fargateprofile/c/*`)),
        trust(sourceArn('arn:aws:eks:eu-west-1:999999999999:fargateprofile/c/*')),
      ];
      for (const document of wrong) {
        setTrust(document);
        expect(create(fixture.profileInput('p')).message, document).to.equal(misconfigured);
      }
      setTrust(trust({ ...sourceArn(`arn:aws:eks:*:${account}:fargateprofile/*`), Action: ['sts:AssumeRole'] }));
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('p'));
    });

    it('is visible to EKS some time after its creation or change', () => {
      fixture = new ModelFixture({ iam: { trustVisibleToEksMs: 10_000 } });
      fixture.run('iam', 'CreateRole', { RoleName: 'late', AssumeRolePolicyDocument: fargateTrust });
      const input = fixture.profileInput('p', { podExecutionRoleArn: `arn:aws:iam::${account}:role/late` });
      fixture.advance(9_999);
      expect(create(input).message).to.equal(misconfigured);
      fixture.advance(1);
      fixture.run('eks', 'CreateFargateProfile', input);
      fixture.advance(2_000);

      setTrust(trust({ Principal: { Service: 'ec2.amazonaws.com' } }));
      fixture.advance(9_999);
      fixture.run('eks', 'CreateFargateProfile', fixture.profileInput('q'));
      fixture.advance(2_000);
      expect(create(fixture.profileInput('r')).message).to.equal(misconfigured);
    });

    it('must be passable by the caller', () => {
      const roleArn = `arn:aws:iam::${account}:role/pods`;
      fixture.model.principals.deny({ principal: fixture.caller.arn, action: 'iam:PassRole' });
      expectRefusal(
        create(fixture.profileInput('p')),
        'AccessDeniedException',
        403,
        `User: ${fixture.caller.arn} is not authorized to perform: iam:PassRole on resource: ${roleArn} because no identity-based policy allows the iam:PassRole action`,
      );
    });

    it('must be of the same account', () => {
      const error = create(fixture.profileInput('p', { podExecutionRoleArn: 'arn:aws:iam::999999999999:role/pods' }));
      expectRefusal(error, 'AccessDeniedException', 403, 'Cross-account pass role is not allowed.');
    });

    it("needs read permission on Fargate's service-linked role", () => {
      fixture.model.principals.deny({ principal: account, action: 'iam:GetRole' });
      expectRefusal(
        create(fixture.profileInput('p')),
        'InvalidRequestException',
        400,
        "Failed to validate if SLR: AWSServiceRoleForAmazonEKSForFargate already exists due to missing permissions for 'iam:GetRole",
      );
    });
  });
});
