import { expect } from 'chai';
import { readDenial, type Denial } from './denial.ts';

const USER = 'User: arn:aws:iam::111122223333:user/m is not authorized to perform:';

describe('readDenial', () => {
  for (const [message, wanted] of [
    [`${USER} iam:CreateRole on resource: arn:aws:iam::111122223333:role/r`, { action: 'iam:CreateRole' }],
    [
      `${USER} eks:DeleteFargateProfile on resource: x because no identity-based policy allows the eks:DeleteFargateProfile action`,
      { action: 'eks:DeleteFargateProfile', policy: { kind: 'identity-based policy', isExplicit: false } },
    ],
    [
      `${USER} iam:CreateRole with an explicit deny in a service control policy: arn:aws:organizations::1:policy/o-1/service_control_policy/p-1`,
      { action: 'iam:CreateRole', policy: { kind: 'service control policy', isExplicit: true } },
    ],
    [
      `${USER} iam:TagRole due to an explicit deny in a Service Control Policy`,
      { action: 'iam:TagRole', policy: { kind: 'service control policy', isExplicit: true } },
    ],
    [
      `${USER} sts:AssumeRole on resource: r with an explicit deny in an identity-based policy`,
      { action: 'sts:AssumeRole', policy: { kind: 'identity-based policy', isExplicit: true } },
    ],
    [
      `${USER} iam:GetRole because no VPC endpoint policy allows the iam:GetRole action`,
      { action: 'iam:GetRole', policy: { kind: 'VPC endpoint policy', isExplicit: false } },
    ],
    [
      `${USER} iam:GetRole because no permissions boundary allows the iam:GetRole action`,
      { action: 'iam:GetRole', policy: { kind: 'permissions boundary', isExplicit: false } },
    ],
    [
      "Failed to validate if SLR: AWSServiceRoleForAmazonEKSForFargate already exists due to missing permissions for 'iam:GetRole",
      { action: 'iam:GetRole' },
    ],
    ['Missing permissions for ec2:DescribeSubnets', { action: 'ec2:DescribeSubnets' }],
    ['Account 111122223333 is not authorized to use this service', {}],
    ['Unable to determine service/operation name to be authorized', {}],
    ['', {}],
    [`${'x'.repeat(10_000)}${USER} iam:GetRole`, {}],
  ] satisfies (readonly [string, Denial])[])
    it(message.slice(0, 200), () => {
      expect(readDenial(message)).to.deep.equal(wanted);
    });
});
