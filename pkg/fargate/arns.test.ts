import { expect } from 'chai';
import { AccountId, EksClusterName, RoleName } from '../../api/names.ts';
import { clusterArn, parseRoleArn, podExecutionPolicyArn, roleArn } from './arns.ts';

const account = AccountId.of('111122223333');

describe('ARNs', () => {
  it('of the managed policy contain the partition', () => {
    expect(podExecutionPolicyArn('aws-cn')).to.equal(
      'arn:aws-cn:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy',
    );
  });

  it('of a cluster contain partition, region and account', () => {
    expect(clusterArn({ partition: 'aws', region: 'eu-west-1', account }, EksClusterName.of('default_prod'))).to.equal(
      'arn:aws:eks:eu-west-1:111122223333:cluster/default_prod',
    );
  });

  it('of a role are formatted and parsed, with and without a path', () => {
    for (const path of ['/', '/eks/', '/a/b/']) {
      const name = RoleName.of('prod-default_web_fargate');
      const parts = { account, path, name };
      expect(parseRoleArn(roleArn({ partition: 'aws', account }, path, name))).to.deep.equal(parts);
    }
  });

  for (const odd of [
    '',
    'arn:aws:iam::1234:role/x',
    'arn:aws:iam::111122223333:user/x',
    'arn:aws:iam::111122223333:role/',
    'arn:aws:iam::111122223333:rolex/y',
    'arn:aws:iam:eu-west-1:111122223333:role/x',
    ' arn:aws:iam::111122223333:role/x',
    'arn:aws:iam::111122223333:role/x\n',
    `arn:aws:iam::111122223333:role/${'x'.repeat(65)}`,
  ]) {
    it(`of a role do not match ${JSON.stringify(odd)}`, () => {
      expect(parseRoleArn(odd)).to.deep.equal(undefined);
    });
  }
});
