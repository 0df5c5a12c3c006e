import { expect } from 'chai';
import { allowsAssume, arnLike } from './trust-policy.ts';

describe('trust policies', () => {
  it('match ARNs part by part', () => {
    const arn = 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/c/p';
    for (const pattern of [arn, 'arn:aws:eks:*:111122223333:fargateprofile/c/*', 'arn:*:eks:*:*:fargateprofile/?/*']) {
      expect(arnLike(pattern, arn), pattern).to.equal(true);
    }
    for (const pattern of ['arn:aws:*:fargateprofile/c/*', '*', 'arn:aws:eks:*:*:fargateprofile/d/*']) {
      expect(arnLike(pattern, arn), pattern).to.equal(false);
    }
  });

  it('prefer Deny, and ignore the case of condition keys', () => {
    const statement = { Effect: 'Allow', Principal: { Service: ['a', 's'] }, Action: ['sts:TagSession', 'sts:*'] };
    const deny = { ...statement, Effect: 'Deny', Condition: { StringEquals: { 'AWS:SourceAccount': ['1', '2'] } } };
    const document = JSON.stringify({ Statement: [statement, deny] });
    const ask = (account: string): boolean =>
      allowsAssume(document, { principal: { service: 's' }, context: { 'aws:sourceaccount': account } });
    expect([ask('1'), ask('2'), ask('3')]).to.deep.equal([false, false, true]);
  });

  it('never match with an unknown operator', () => {
    const document = JSON.stringify({
      Statement: { Effect: 'Allow', Principal: '*', Action: 'sts:AssumeRole', Condition: { IpAddress: { a: '0' } } },
    });
    const request = { principal: { arn: 'arn:aws:iam::1:user/u', account: '1' }, context: { a: '0' } };
    expect(allowsAssume(document, request)).to.equal(false);
  });
});
