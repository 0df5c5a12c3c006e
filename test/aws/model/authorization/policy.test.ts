import { expect } from 'chai';
import { type Question, isAllowed, readIdentityPolicy } from './policy.ts';

const ROLE = 'arn:aws:iam::111122223333:role/pods/web';

const policyOf = (...statements: readonly object[]) =>
  readIdentityPolicy(JSON.stringify({ Version: '2012-10-17', Statement: statements }));
const allow = (Condition: object = {}, Action: unknown = 'iam:TagRole', Resource: unknown = '*') => ({
  Effect: 'Allow',
  Action,
  Resource,
  Condition,
});
const ask = (context: Question['context'] = {}, action = 'iam:TagRole'): Question => ({
  action,
  resource: ROLE,
  context,
});

describe('the identity policy of the emulated IAM', () => {
  const TEAM = { 'aws:requesttag/team': 'a' };
  const table: readonly (readonly [string, readonly object[], Question, boolean])[] = [
    ['denies without a statement', [], ask(), false],
    ['allows a named action', [allow()], ask(), true],
    ['allows an action without regard to case', [allow({}, 'IAM:tag*')], ask(), true],
    ['denies another action', [allow({}, 'iam:UntagRole')], ask(), false],
    ['allows a resource that matches', [allow({}, '*', ['arn:aws:iam::*:role/pods/*'])], ask(), true],
    ['denies another resource', [allow({}, '*', ['arn:aws:iam::*:role/web'])], ask(), false],
    ['lets a Deny win', [allow(), { ...allow(), Effect: 'Deny' }], ask(), false],
    [
      'compares a key without regard to case',
      [allow({ StringEquals: { 'aws:RequestTag/Team': 'a' } })],
      ask(TEAM),
      true,
    ],
    ['compares values exactly', [allow({ StringEquals: { 'aws:RequestTag/team': '*' } })], ask(TEAM), false],
    ['compares values with wildcards', [allow({ StringLike: { 'aws:RequestTag/team': '*' } })], ask(TEAM), true],
    ['needs one of several values', [allow({ ArnLike: { 'aws:RequestTag/team': ['b', 'a'] } })], ask(TEAM), true],
    ['needs every condition', [allow({ StringEquals: { 'aws:RequestTag/team': 'a', x: 'y' } })], ask(TEAM), false],
    [
      'does not meet a condition on an absent key',
      [allow({ StringLike: { 'aws:RequestTag/team': '*' } })],
      ask(),
      false,
    ],
    ['asks for a present key', [allow({ Null: { 'aws:RequestTag/team': 'false' } })], ask(TEAM), true],
    ['misses a present key', [allow({ Null: { 'aws:RequestTag/team': 'false' } })], ask(), false],
    ['asks for an absent key', [allow({ Null: { 'aws:RequestTag/team': 'true' } })], ask(TEAM), false],
  ];
  for (const [title, statements, question, expected] of table)
    it(title, () => expect(isAllowed(policyOf(...statements), question)).to.equal(expected));

  for (const [title, statement] of [
    ['NotAction', { Effect: 'Allow', NotAction: '*', Resource: '*' }],
    ['an unknown condition operator', allow({ IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } })],
    ['a missing effect', { Action: '*', Resource: '*' }],
  ] as const)
    it(`rejects ${title}, which it cannot evaluate`, () => expect(() => policyOf(statement)).to.throw());
});
