import { expect } from 'chai';
import { readIdentityPolicy } from '../authorization/policy.ts';
import { type Input, recordList } from '../input.ts';
import { account, ModelFixture } from '../model-fixture.ts';

const ROLE = `arn:aws:iam::${account}:role/pods`;

describe('SimulatePrincipalPolicy', () => {
  let fixture: ModelFixture;
  beforeEach(() => {
    fixture = new ModelFixture();
  });
  const decisions = (input: Input): readonly unknown[] =>
    recordList(
      fixture.run('iam', 'SimulatePrincipalPolicy', { PolicySourceArn: ROLE, ...input }),
      'EvaluationResults',
    ).map((result) => [result['EvalActionName'], result['EvalDecision']]);

  it('says what the denials of a role and its account decide, and changes nothing', () => {
    const { principals } = fixture.model;
    principals.deny({ principal: ROLE, action: 'iam:PassRole' });
    principals.deny({ principal: account, action: 'eks:*', explicit: true });
    principals.deny({ principal: 'somebody', action: 'iam:GetRole' });
    expect(decisions({ ActionNames: ['iam:PassRole', 'eks:DescribeCluster', 'iam:GetRole'] })).to.deep.equal([
      ['iam:PassRole', 'implicitDeny'],
      ['eks:DescribeCluster', 'explicitDeny'],
      ['iam:GetRole', 'allowed'],
    ]);
  });

  it('evaluates the policy of all callers with the given resource and context keys', () => {
    const policy = readIdentityPolicy(
      JSON.stringify({
        Version: '2012-10-17',
        Statement: [
          { Effect: 'Allow', Action: 'iam:SimulatePrincipalPolicy', Resource: '*' },
          {
            Effect: 'Allow',
            Action: 'iam:CreateRole',
            Resource: 'arn:aws:iam::*:role/a-*',
            Condition: { Null: { 'aws:RequestTag/owner': 'false' } },
          },
        ],
      }),
    );
    fixture.model.policyCheck = { policy, asked: [] };
    const ContextEntries = [{ ContextKeyName: 'aws:RequestTag/owner', ContextKeyValues: ['me'] }];
    const input = { ActionNames: ['iam:CreateRole'], ResourceArns: [`arn:aws:iam::${account}:role/a-b`] };
    expect(decisions({ ...input, ContextEntries })).to.deep.equal([['iam:CreateRole', 'allowed']]);
    expect(decisions(input)).to.deep.equal([['iam:CreateRole', 'implicitDeny']]);
    expect(fixture.model.policyCheck.asked.map(({ action }) => action)).to.not.include('iam:CreateRole');
  });

  it('refuses the ARN of a session, and a role that does not exist', () => {
    const refused = (PolicySourceArn: string): unknown =>
      fixture.refused('iam', 'SimulatePrincipalPolicy', { PolicySourceArn, ActionNames: ['iam:GetRole'] }).code;
    expect(refused(`arn:aws:sts::${account}:assumed-role/pods/s`)).to.equal('InvalidInput');
    expect(refused(`arn:aws:iam::${account}:role/nobody`)).to.equal('NoSuchEntity');
    expect(refused(ROLE.replace('pods', 'team/pods'))).to.equal('NoSuchEntity');
  });
});
