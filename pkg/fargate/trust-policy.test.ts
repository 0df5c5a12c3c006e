import { expect } from 'chai';
import { AccountId, EksClusterName, ProfileName } from '../../api/names.ts';
import { type TrustMistake, areTrustPoliciesEqual, trustPolicy, checkTrust } from './trust-policy.ts';

const expected = {
  partition: 'aws',
  region: 'eu-west-1',
  account: AccountId.of('111122223333'),
  cluster: EksClusterName.of('default_prod'),
};
const ours = 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/default_prod';
const wanted = trustPolicy(expected);
const allow = {
  Effect: 'Allow',
  Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
  Action: 'sts:AssumeRole',
};
const policy = (...statements: readonly object[]): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: statements.length === 1 ? statements[0] : statements });
const withCondition = (operator: string, value: unknown, key = 'aws:SourceArn'): string =>
  policy({ ...allow, Condition: { [operator]: { [key]: value } } });

describe('The trust policy', () => {
  it("is that of AWS's documentation, with the condition against confused deputies", () => {
    expect(JSON.parse(wanted)).to.deep.equal({
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Condition: {
            ArnLike: { 'aws:SourceArn': `${ours}/*` },
          },
          Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
          Action: 'sts:AssumeRole',
        },
      ],
    });
  });

  describe('checkTrust', () => {
    const accepted: Readonly<Record<string, string>> = {
      'what this controller writes': wanted,
      'one statement, no list': policy(allow),
      'lists of actions and services': policy({
        ...allow,
        Principal: { Service: ['ec2.amazonaws.com', 'eks-fargate-pods.amazonaws.com'] },
        Action: ['sts:TagSession', 'sts:assumerole'],
      }),
      'an action with wildcards': policy({ ...allow, Action: 'sts:Assume*' }),
      'any action': policy({ ...allow, Action: '*' }),
      'any principal': policy({ ...allow, Principal: '*' }),
      'another statement beside it': policy({ ...allow, Principal: { Service: 'ec2.amazonaws.com' } }, allow),
      'any account and region': withCondition('ArnLike', 'arn:*:eks:*:*:fargateprofile/*/*'),
      'ArnEquals with wildcards': withCondition('ArnEquals', `${ours}/*`),
      'StringLike over the whole ARN': withCondition('StringLike', 'arn:aws:eks:*default_prod/*'),
      'one of several values': withCondition('ArnLike', [
        'arn:aws:eks:us-east-1:111122223333:fargateprofile/*',
        'arn:aws:eks:eu-west-1:111122223333:fargateprofile/default_????/*',
      ]),
      'the profile without its id': withCondition('ArnEquals', `${ours}/web`),
      'the profile itself': withCondition('ArnLike', `${ours}/web/*`),
      'the account': withCondition('StringEquals', '111122223333', 'AWS:SourceAccount'),
      'not another account': withCondition('StringNotEquals', '999999999999', 'aws:SourceAccount'),
      'a service': withCondition('Bool', true, 'aws:PrincipalIsAWSService'),
      'a key that must be there': withCondition('Null', 'false'),
      'a condition that cannot be judged here': withCondition('StringEquals', 'o-1234', 'aws:SourceOrgID'),
      'an operator that is not known': withCondition('Sometimes', 'x'),
      'a policy variable': withCondition('StringEquals', '${aws:PrincipalAccount}', 'aws:SourceAccount'),
      'a Deny for another principal': policy(allow, { ...allow, Effect: 'Deny', Principal: { AWS: '*' } }),
      'a Deny for another account': policy(allow, {
        ...allow,
        Effect: 'Deny',
        Principal: '*',
        Condition: { StringNotEquals: { 'aws:SourceAccount': '111122223333' } },
      }),
    };
    const check = (document: string) => checkTrust(document, { ...expected, profile: ProfileName.of('web') });
    for (const [what, document] of Object.entries(accepted))
      it(`trusts ${what}`, () => expect(check(document)).to.deep.equal({ kind: 'trusted' }));

    const REFUSED = 'the trust policy does not allow eks-fargate-pods.amazonaws.com to call sts:AssumeRole';
    const ONLY =
      'the trust policy allows eks-fargate-pods.amazonaws.com to call sts:AssumeRole only under the condition';
    const NO_POLICY = 'the trust policy is not a JSON policy document';
    const refused: readonly (readonly [what: string, document: string, reason: string, mistake?: TrustMistake])[] = [
      ['no JSON', 'rubbish', NO_POLICY],
      ['JSON that is no policy', '{"Statement": 7}', NO_POLICY],
      ['another service', policy({ ...allow, Principal: { Service: 'eks.amazonaws.com' } }), REFUSED],
      ['the principal under AWS', policy({ ...allow, Principal: { AWS: 'eks-fargate-pods.amazonaws.com' } }), REFUSED],
      ['another action', policy({ ...allow, Action: 'sts:TagSession' }), REFUSED],
      [
        'every action but this',
        policy({ Effect: 'Allow', Principal: allow.Principal, NotAction: 'sts:AssumeRole' }),
        REFUSED,
      ],
      [
        'every principal but this',
        policy({ Effect: 'Allow', NotPrincipal: allow.Principal, Action: 'sts:AssumeRole' }),
        REFUSED,
      ],
      ['a Deny', policy(allow, { ...allow, Effect: 'Deny' }), REFUSED.replace('does not allow', 'denies'), 'denied'],
      [
        'another region',
        withCondition('ArnLike', `${ours.replace('eu-west-1', 'us-east-1')}/*`),
        `${ONLY} ArnLike aws:SourceArn "arn:aws:eks:us-east-1:111122223333:fargateprofile/default_prod/*"; EKS sends aws:SourceArn ${ours}/web`,
        'condition',
      ],
    ];
    for (const [what, document, reason, mistake = 'notAllowed'] of refused)
      it(`does not trust ${what}`, () => expect(check(document)).to.deep.equal({ kind: 'untrusted', mistake, reason }));

    const unmet: Readonly<Record<string, string>> = {
      'another account': withCondition('ArnLike', `${ours.replace('111122223333', '999999999999')}/*`),
      'another cluster': withCondition('ArnLike', 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/default_pro/*'),
      'another partition': withCondition('ArnLike', 'arn:aws-cn:eks:eu-west-1:111122223333:fargateprofile/*'),
      'a cluster and not its profiles': withCondition('ArnLike', ours),
      'wildcards in StringEquals, which knows none': withCondition('StringEquals', 'arn:aws:eks:*'),
      'a star across colons in ArnLike': withCondition('ArnLike', 'arn:*:fargateprofile/default_prod/*'),
      'an ARN cut short': withCondition('ArnLike', 'arn:*'),
      'a dot is no wildcard': withCondition('StringLike', 'arn.aws:eks:*'),
      'the account negated': withCondition('StringNotEquals', '111122223333', 'aws:SourceAccount'),
      'the ARN negated': withCondition('ArnNotLike', 'arn:aws:eks:*:*:*'),
      'a key that must not be there': withCondition('Null', 'true'),
      'one of two conditions': policy({
        ...allow,
        Condition: {
          StringEquals: { 'aws:SourceAccount': '111122223333' },
          ArnLike: { 'aws:SourceArn': 'arn:aws:eks:us-east-1:*:*' },
        },
      }),
    };
    for (const [what, document] of Object.entries(unmet))
      it(`does not trust ${what}`, () => expect(check(document)).to.have.property('kind', 'untrusted'));
  });

  describe('areTrustPoliciesEqual', () => {
    const same: Readonly<Record<string, readonly [string, string]>> = {
      'other white space and order of fields': [
        wanted,
        JSON.stringify(JSON.parse(wanted), ['Statement', ...keysOf(wanted)], 2),
      ],
      'a list of one': [
        policy(allow),
        JSON.stringify({ Version: '2012-10-17', Statement: [{ ...allow, Action: ['sts:AssumeRole'] }] }),
      ],
      'a list of one service': [policy(allow), policy({ ...allow, Principal: { Service: [allow.Principal.Service] } })],
      'statements in another order': [
        policy(allow, { ...allow, Effect: 'Deny' }),
        policy({ ...allow, Effect: 'Deny' }, allow),
      ],
      'actions in another case and order': [
        policy({ ...allow, Action: ['sts:AssumeRole', 'sts:TagSession'] }),
        policy({ ...allow, Action: ['STS:tagsession', 'sts:assumerole'] }),
      ],
      'a Sid': [policy(allow), policy({ ...allow, Sid: 'Fargate' })],
      'condition keys in another case': [
        withCondition('ArnLike', 'arn:x'),
        withCondition('ArnLike', ['arn:x'], 'AWS:sourcearn'),
      ],
      'ArnEquals and ArnLike': [withCondition('ArnLike', 'arn:x'), withCondition('ArnEquals', 'arn:x')],
      'the same text that is no JSON': ['rubbish', 'rubbish'],
    };
    for (const [what, [a, b]] of Object.entries(same)) {
      it(`is true for ${what}`, () => {
        expect(areTrustPoliciesEqual(a, b)).to.equal(true);
      });
    }

    const other: Readonly<Record<string, readonly [string, string]>> = {
      'no condition': [wanted, policy(allow)],
      'another cluster': [wanted, trustPolicy({ ...expected, cluster: EksClusterName.of('other') })],
      'another effect': [policy(allow), policy({ ...allow, Effect: 'Deny' })],
      'one statement more': [policy(allow), policy(allow, { ...allow, Principal: { Service: 'ec2.amazonaws.com' } })],
      NotAction: [policy(allow), policy({ Effect: 'Allow', Principal: allow.Principal, NotAction: 'sts:AssumeRole' })],
      NotPrincipal: [
        policy(allow),
        policy({ Effect: 'Allow', NotPrincipal: allow.Principal, Action: 'sts:AssumeRole' }),
      ],
      'another operator': [withCondition('ArnLike', 'arn:x'), withCondition('ArnNotLike', 'arn:x')],
      'another value': [withCondition('ArnLike', 'arn:x'), withCondition('ArnLike', 'arn:X')],
      'a field that is not known': [policy(allow), policy({ ...allow, Resource: '*' })],
      'no JSON': [wanted, 'rubbish'],
      'two texts that are no JSON': ['rubbish', 'nonsense'],
    };
    for (const [what, [a, b]] of Object.entries(other)) {
      it(`is false for ${what}`, () => {
        expect(areTrustPoliciesEqual(a, b)).to.equal(false);
        expect(areTrustPoliciesEqual(b, a)).to.equal(false);
      });
    }
  });
});

/**
 * Returns all field names of a JSON document, those of inner objects first. If JSON.stringify gets this list as its
 * replacer, it writes the fields in the order of the list.
 */
function keysOf(document: string): string[] {
  const keys: string[] = [];
  JSON.parse(document, (key, value: unknown) => {
    keys.push(key);
    return value;
  });
  return keys;
}
