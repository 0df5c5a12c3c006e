import { expect } from 'chai';
import { AccountId } from '../../api/names.ts';
import { NO_LIMITS } from './operator-limits.ts';
import { requiredBoundary } from './required-permissions-boundary.ts';

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
