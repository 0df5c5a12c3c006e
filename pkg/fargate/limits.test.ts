import { expect } from 'chai';
import { AccountId } from '../../api/names.ts';
import { NO_LIMITS, findPolicyExcess, findRoleExcess, requiredBoundary } from './limits.ts';

const ROLE = 'arn:aws:iam::111122223333:role/pods/web';
const PLACE = { partition: 'aws-cn', account: AccountId.of('111122223333') };

describe("the operator's limits", () => {
  it('allow everything by default', () => {
    expect(findRoleExcess(NO_LIMITS, 'spec.roleARN', ROLE)).to.deep.equal([]);
    expect(findPolicyExcess(NO_LIMITS, 'spec.roleAdditionalPolicies[0]', ROLE)).to.deep.equal([]);
    expect(requiredBoundary(NO_LIMITS, PLACE)).to.equal(undefined);
  });

  for (const [patterns, isAllowed] of [
    [[ROLE], true],
    [['arn:aws:iam::111122223333:role/pods/*'], true],
    [['arn:aws:iam::444455556666:role/*', 'arn:*:iam::*:role/*/w?b'], true],
    [['arn:aws:iam::111122223333:role/pod'], false],
    [['arn:aws:iam::111122223333:role/PODS/*'], false],
    [['none'], false],
    [[], false],
  ] as const)
    it(`compare ARNs with patterns: ${patterns.join(', ') || 'none'}`, () => {
      const excess = isAllowed ? [] : [{ field: 'spec.roleARN', value: ROLE, allowed: patterns }];
      expect(findRoleExcess({ roleArns: patterns }, 'spec.roleARN', ROLE)).to.deep.equal(excess);
    });

  for (const [permissionsBoundary, arn] of [
    ['arn:aws:iam::111122223333:policy/bound', 'arn:aws:iam::111122223333:policy/bound'],
    ['arn:aws:iam::aws:policy/bound', 'arn:aws:iam::aws:policy/bound'],
    ['arn:*:iam::*:policy/teams/bound', 'arn:aws-cn:iam::111122223333:policy/teams/bound'],
    ['arn:aws:iam::*:policy/bound', 'arn:aws:iam::111122223333:policy/bound'],
  ] as const)
    it(`take partition and account of the boundary from the EKS cluster: ${permissionsBoundary}`, () => {
      expect(requiredBoundary({ permissionsBoundary }, PLACE)).to.equal(arn);
    });
});
