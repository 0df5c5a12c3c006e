import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { AccountId, EksClusterName, RoleArn } from '../../../api/names.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { anObject } from '../../../controllers/awsfargateprofile/testing/builders.ts';
import { isAllowed, readIdentityPolicy } from '../../../test/aws/model/authorization/policy.ts';
import { blocksOf } from '../../../test/docs/blocks.ts';
import { type Example, type Question, questionsFor, rbacRolesFor } from './permissions.ts';

const EXAMPLE: Example = {
  partition: 'aws',
  region: 'eu-west-1',
  account: AccountId.of('111122223333'),
  cluster: 'prod',
  namespace: 'team-a',
  role: 'prod-web_fargate',
};
const BOUNDARY = { permissionsBoundary: 'arn:aws:iam::*:policy/fargate-boundary' };
const FLAGS = { limits: {}, reconcilesInstanceGroups: false };
const BYO = anObject({ spec: { roleARN: RoleArn.of('arn:aws:iam::111122223333:role/mine') } });

/** Returns the actions that an IAM policy with these statements, given as JSON texts, denies. */
const denied = (policy: string, questions: readonly Question[]): readonly string[] =>
  questions.flatMap(({ actions, resource, context }) =>
    actions.filter(
      (action) =>
        !isAllowed(readIdentityPolicy(policy), {
          action,
          resource,
          context: Object.fromEntries(context.map(({ key, value }) => [key.toLowerCase(), value])),
        }),
    ),
  );

const sidsFor = (objects: readonly AWSFargateProfile[], flags = FLAGS): readonly string[] =>
  questionsFor(objects, flags, EXAMPLE).map(({ sid }) => sid);

describe('the questions for the policy simulator of IAM', () => {
  const [policy = '', withBoundary = ''] = blocksOf('docs/aws-permissions.md')
    .filter(({ language }) => language === 'json')
    .map(({ text }) => text);

  it('get the answer yes for the documented policy, in each partition', () => {
    expect(denied(policy, questionsFor([], FLAGS, EXAMPLE))).to.deep.equal([]);
    const china = { ...EXAMPLE, partition: 'aws-cn', region: 'cn-north-1' };
    expect(denied(policy.replaceAll('arn:aws:', 'arn:aws-cn:'), questionsFor([], FLAGS, china))).to.deep.equal([]);
  });

  it('get the answer yes for the policy with a required boundary, and no without it', () => {
    const questions = questionsFor([], { ...FLAGS, limits: BOUNDARY }, EXAMPLE);
    const replaced = ['CreateRoles', 'ChangeRoles', 'AttachPolicies'];
    const { Statement } = JSON.parse(policy) as { Statement: { Sid: string }[] };
    const kept = Statement.filter(({ Sid }) => !replaced.includes(Sid));
    const statements = [...kept, ...(JSON.parse(withBoundary) as object[])];
    const merged = JSON.stringify({ Version: '2012-10-17', Statement: statements });
    expect(denied(merged, questions)).to.deep.equal([]);
    const boundaries = questions.flatMap(({ context }) =>
      context.filter(({ key }) => key === 'iam:PermissionsBoundary'),
    );
    expect(new Set(boundaries.map(({ value }) => value))).to.deep.equal(
      new Set(['arn:aws:iam::111122223333:policy/fargate-boundary']),
    );
    const without = JSON.stringify({ Version: '2012-10-17', Statement: kept });
    expect(denied(without, questions)).to.include('iam:CreateRole');
  });

  it('get the answer yes for a policy that allows the EKS cluster of the example only, and no for another one', () => {
    const narrowed = policy.replaceAll('*:*:cluster/*', '*:*:cluster/prod');
    expect(denied(narrowed, questionsFor([], FLAGS, EXAMPLE))).to.deep.equal([]);
    expect(denied(narrowed, questionsFor([], FLAGS, { ...EXAMPLE, cluster: 'dev' }))).to.include('eks:DescribeCluster');
  });

  it('are about the statements that objects and flags need', () => {
    expect(sidsFor([])).to.include('CreateRoles').and.not.include('ChooseSubnets');
    expect(sidsFor([BYO])).to.deep.equal([
      'Clusters',
      'Profiles',
      'AccessEntries',
      'ReadRoles',
      'PassRole',
      'ServiceLinkedRole',
    ]);
    expect(sidsFor([BYO, anObject()])).to.include('CreateRoles');
    expect(sidsFor([anObject({ spec: { eksCluster: { name: EksClusterName.of('x') } } })])).to.include('ChooseSubnets');
    expect(sidsFor([], { ...FLAGS, reconcilesInstanceGroups: true })).to.include('TagNewRolesOfInstanceGroups');
    expect(sidsFor([], { ...FLAGS, limits: BOUNDARY })).to.include('SetBoundary');
  });
});

describe('the RBAC rules that capaf checks', () => {
  it('have each rule of config/rbac/role.yaml with each verb', () => {
    const text = readFileSync(new URL('../../../config/rbac/role.yaml', import.meta.url), 'utf8');
    const verbs = [...text.matchAll(/verbs: \[(.*)\]/g)].map(([, list = '']) => list.split(', '));
    const reviews = rbacRolesFor().flatMap((role) => role.permissions);
    expect(new Set(reviews.map(({ verb }) => verb))).to.deep.equal(new Set(verbs.flat()));
    expect(reviews).to.deep.include({
      group: 'infrastructure.cluster.x-k8s.io',
      resource: 'awsfargateprofiles',
      subresource: 'status',
      verb: 'patch',
      name: '',
    });
  });
});
