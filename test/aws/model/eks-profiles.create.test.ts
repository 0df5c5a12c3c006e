import { expect } from 'chai';
import { account, Bench, expectRefusal, fargateTrust } from './bench.ts';
import type { AwsError } from './errors.ts';
import type { Input } from './input.ts';

describe('creating EKS Fargate profiles', () => {
  let bench: Bench;
  const create = (input: Input): AwsError => bench.refused('eks', 'CreateFargateProfile', input);

  beforeEach(() => {
    bench = new Bench();
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
      ['no selector', { selectors: [] }, 'Fargate Profile requires at least one selector.'],
      [
        'six selectors',
        { selectors: Array.from({ length: 6 }, () => ({ namespace: 'a' })) },
        'Request contains more than 5 Selectors',
      ],
      [
        'a selector without a namespace',
        { selectors: [{ labels: { a: 'b' } }] },
        'Fargate Profile must have at least one selector with at least one namespace value.',
      ],
      ['a namespace in capitals', { selectors: [{ namespace: 'A' }] }, 'The namespace provided is invalid.'],
      [
        'six labels',
        { selectors: [{ namespace: 'a', labels: { a: '', b: '', c: '', d: '', e: '', f: '' } }] },
        'Request contains Selector with more than 5 Label pairs',
      ],
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
        expectRefusal(create(bench.profile('p', change)), 'InvalidParameterException', 400, message);
        expect(bench.status('p')).to.equal(undefined);
      });
    }

    it('accepts wildcards in namespaces, label keys and label values', () => {
      const selectors = [{ namespace: 'team-*', labels: { 'app.example/na?e': '*-prod', '*': 'x' } }];
      bench.run('eks', 'CreateFargateProfile', bench.profile('Ü-1_x', { selectors }));
    });

    it('an unknown cluster', () => {
      expectRefusal(
        create(bench.profile('p', { clusterName: 'nope' })),
        'ResourceNotFoundException',
        404,
        'No cluster found for name: nope.',
      );
    });

    it('a cluster that is not ACTIVE', () => {
      bench.cluster.status = 'FAILED';
      expectRefusal(create(bench.profile('p')), 'InvalidRequestException', 400, "Cluster 'c' is not in ACTIVE status");
    });

    it('a name that is taken', () => {
      bench.createActive('p');
      expectRefusal(
        create(bench.profile('p')),
        'ResourceInUseException',
        409,
        'A Fargate Profile already exists with this name in this cluster.',
      );
    });

    it('the eleventh profile', () => {
      for (let index = 0; index < 10; index += 1) bench.createActive(`p${index}`);
      expectRefusal(
        create(bench.profile('p10')),
        'ResourceLimitExceededException',
        400,
        'Fargate Profile limit exceeded for cluster.',
      );
    });

    it('an availability zone without Fargate', () => {
      bench = new Bench({ eks: { unsupportedAvailabilityZones: ['eu-west-1b'] } });
      expect(create(bench.profile('p', { subnets: ['subnet-b'] })).message).to.equal(
        'Fargate Profile creation for the Availability Zone eu-west-1b for Subnet subnet-b is not supported',
      );
    });

    it('uses the private subnets of the cluster when none are named', () => {
      bench.run('eks', 'CreateFargateProfile', bench.profile('p', { subnets: undefined }));
      expect(bench.cluster.profiles.get('p')?.subnets).to.deep.equal(['subnet-a', 'subnet-b']);
    });

    it('a tag with the reserved prefix', () => {
      const error = create(bench.profile('p', { tags: { 'aws:x': 'y' } }));
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
      bench.run('iam', 'UpdateAssumeRolePolicy', { RoleName: 'pods', PolicyDocument: document });
    };
    const sourceArn = (arn: string): Input => ({ Condition: { ArnLike: { 'aws:SourceArn': arn } } });

    it('must trust Fargate for this very cluster', () => {
      const wrong = [
        trust({ Principal: { Service: 'ec2.amazonaws.com' } }),
        trust({ Effect: 'Deny' }),
        trust(sourceArn(`arn:aws:eks:eu-west-1:${account}:fargateprofile/other/*`)),
        trust(sourceArn(`arn:aws:eks:us-east-1:${account}:fargateprofile/c/*`)),
        trust(sourceArn('arn:aws:eks:eu-west-1:999999999999:fargateprofile/c/*')),
      ];
      for (const document of wrong) {
        setTrust(document);
        expect(create(bench.profile('p')).message, document).to.equal(misconfigured);
      }
      setTrust(trust({ ...sourceArn(`arn:aws:eks:*:${account}:fargateprofile/*`), Action: ['sts:AssumeRole'] }));
      bench.run('eks', 'CreateFargateProfile', bench.profile('p'));
    });

    it('is seen by EKS only some time after it was made or changed', () => {
      bench = new Bench({ iam: { trustVisibleToEksMs: 10_000 } });
      bench.run('iam', 'CreateRole', { RoleName: 'late', AssumeRolePolicyDocument: fargateTrust });
      const input = bench.profile('p', { podExecutionRoleArn: `arn:aws:iam::${account}:role/late` });
      bench.pass(9_999);
      expect(create(input).message).to.equal(misconfigured);
      bench.pass(1);
      bench.run('eks', 'CreateFargateProfile', input);
      bench.pass(2_000);

      setTrust(trust({ Principal: { Service: 'ec2.amazonaws.com' } }));
      bench.pass(9_999);
      bench.run('eks', 'CreateFargateProfile', bench.profile('q'));
      bench.pass(2_000);
      expect(create(bench.profile('r')).message).to.equal(misconfigured);
    });

    it('must be one the caller may pass', () => {
      const roleArn = `arn:aws:iam::${account}:role/pods`;
      bench.model.principals.deny({ principal: bench.caller.arn, action: 'iam:PassRole' });
      expectRefusal(
        create(bench.profile('p')),
        'AccessDeniedException',
        403,
        `User: ${bench.caller.arn} is not authorized to perform: iam:PassRole on resource: ${roleArn} because no identity-based policy allows the iam:PassRole action`,
      );
    });

    it('may not be of another account', () => {
      const error = create(bench.profile('p', { podExecutionRoleArn: 'arn:aws:iam::999999999999:role/pods' }));
      expectRefusal(error, 'AccessDeniedException', 403, 'Cross-account pass role is not allowed.');
    });

    it("needs Fargate's service-linked role to be readable", () => {
      bench.model.principals.deny({ principal: account, action: 'iam:GetRole' });
      expectRefusal(
        create(bench.profile('p')),
        'InvalidRequestException',
        400,
        "Failed to validate if SLR: AWSServiceRoleForAmazonEKSForFargate already exists due to missing permissions for 'iam:GetRole",
      );
    });
  });
});
