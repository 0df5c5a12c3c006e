import { expect } from 'chai';
import { AccountId } from '../../api/names.ts';
import {
  NO_LIMITS,
  findEksClusterExcess,
  findPolicyExcess,
  findRoleExcess,
  requiredBoundary,
} from './operator-limits.ts';

const ROLE = 'arn:aws:iam::111122223333:role/pods/web';

describe("the operator's limits", () => {
  it('allow everything by default', () => {
    expect(findRoleExcess(NO_LIMITS, 'spec.roleARN', ROLE)).to.deep.equal([]);
    expect(findPolicyExcess(NO_LIMITS, 'spec.roleAdditionalPolicies[0]', ROLE)).to.deep.equal([]);
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
});

describe('findEksClusterExcess', () => {
  const account = AccountId.of('123456789012');
  const limits = {
    eksClusters: [{ namespace: 'team-*', account, region: 'eu-west-1', name: 't?ols' }],
  };
  const tools = { account, region: 'eu-west-1', name: 'tools' };

  it('allows nothing without a limit', () => {
    expect(findEksClusterExcess({}, 'team-a', tools)).to.deep.equal([
      { field: 'spec.eksCluster', value: '123456789012/eu-west-1/tools', allowed: [], namespace: 'team-a' },
    ]);
  });

  it('allows the EKS clusters of the namespace, and any account while the account is not known', () => {
    expect(findEksClusterExcess(limits, 'team-a', tools)).to.deep.equal([]);
    expect(findEksClusterExcess(limits, 'team-a', { region: 'eu-west-1', name: 'tools' })).to.deep.equal([]);
  });

  it('refuses another account, region or name, and tells what the namespace may name', () => {
    const others = [{ account: AccountId.of('210987654321') }, { region: 'eu-west-2' }, { name: 'tools-2' }];
    for (const other of others) {
      const [excess] = findEksClusterExcess(limits, 'team-a', { ...tools, ...other });
      expect(excess?.allowed, JSON.stringify(other)).to.deep.equal(['123456789012/eu-west-1/t?ols']);
    }
    expect(findEksClusterExcess(limits, 'other', tools)[0]?.allowed).to.deep.equal([]);
  });
});

const PLACE = { partition: 'aws-cn', account: AccountId.of('111122223333') };

describe("the permissions boundary that the operator's limits require", () => {
  it('is absent by default', () => expect(requiredBoundary(NO_LIMITS, PLACE)).to.equal(undefined));

  for (const [permissionsBoundary, arn] of [
    ['arn:aws:iam::111122223333:policy/bound', 'arn:aws:iam::111122223333:policy/bound'],
    ['arn:aws:iam::aws:policy/bound', 'arn:aws:iam::aws:policy/bound'],
    ['arn:*:iam::*:policy/teams/bound', 'arn:aws-cn:iam::111122223333:policy/teams/bound'],
    ['arn:aws:iam::*:policy/bound', 'arn:aws:iam::111122223333:policy/bound'],
  ] as const)
    it(`takes partition and account from the EKS cluster: ${permissionsBoundary}`, () => {
      expect(requiredBoundary({ permissionsBoundary }, PLACE)).to.equal(arn);
    });
});
