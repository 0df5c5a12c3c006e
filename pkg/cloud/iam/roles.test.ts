import { expect } from 'chai';
import * as O from 'fp-ts/lib/Option.js';
import { RoleName } from '../../../api/names.ts';
import { isDeleteConflict, isNotFound, isQuotaExceeded, isThrottled } from '../errors.ts';
import { answerOf, failureOf, Workbench } from '../testing/calls.ts';
import { FakeTransport, page, queryError, result } from '../testing/fake-transport.ts';
import type { Call, PodExecutionRoles } from '../types.ts';
import { podExecutionRoles } from './roles.ts';

const name = RoleName.of('prod-web_fargate');
const policy = 'arn:aws:iam::aws:policy/AmazonEKSFargatePodExecutionRolePolicy';
const trust = '{"Version":"2012-10-17","Statement":[{"Sid":"a+b c%"}]}';

const role = (extra = '', document = encodeURIComponent(trust)): string =>
  '<Role><Path>/eks/</Path><RoleName>prod-web_fargate</RoleName><RoleId>AROA1</RoleId>' +
  '<Arn>arn:aws:iam::111122223333:role/eks/prod-web_fargate</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate>' +
  `<AssumeRolePolicyDocument>${document}</AssumeRolePolicyDocument>${extra}</Role>`;

const found = {
  name,
  arn: 'arn:aws:iam::111122223333:role/eks/prod-web_fargate',
  id: 'AROA1',
  path: '/eks/',
  trust,
  tags: {},
};

function roles(transport: FakeTransport, region = 'eu-west-1'): PodExecutionRoles {
  const bench = new Workbench(transport, region);
  return podExecutionRoles(bench.clients.iam, bench.calling('iam'));
}

const noSuch = (): FakeTransport =>
  new FakeTransport(() => queryError('NoSuchEntity', 'The role with name prod-web_fargate cannot be found.', 404));

describe('pod execution roles', () => {
  describe('get', () => {
    it('decodes the trust policy', async () => {
      const transport = FakeTransport.inOrder(result('GetRole', role()));
      expect(await answerOf(roles(transport).get(name))).to.deep.equal(O.some(found));
      expect(transport.body(0)).to.deep.equal({ Action: 'GetRole', Version: '2010-05-08', RoleName: name });
    });

    it('leaves a trust policy that is not encoded as it is', async () => {
      const transport = FakeTransport.inOrder(result('GetRole', role('', '100%')));
      expect(await answerOf(roles(transport).get(name))).to.deep.equal(O.some({ ...found, trust: '100%' }));
    });

    it('reads boundary and tags', async () => {
      const extra =
        '<PermissionsBoundary><PermissionsBoundaryType>Policy</PermissionsBoundaryType>' +
        `<PermissionsBoundaryArn>${policy}</PermissionsBoundaryArn></PermissionsBoundary>` +
        '<Tags><member><Key>a</Key><Value>b</Value></member><member><Key>empty</Key><Value></Value></member></Tags>';
      const transport = FakeTransport.inOrder(result('GetRole', role(extra)));
      expect(await answerOf(roles(transport).get(name))).to.deep.equal(
        O.some({ ...found, permissionsBoundary: policy, tags: { a: 'b', empty: '' } }),
      );
    });

    it('a role that is not there is no failure', async () => {
      expect(await answerOf(roles(noSuch()).get(name))).to.deep.equal(O.none);
    });

    it('an answer without a role is refused with its path', async () => {
      const transport = FakeTransport.inOrder(result('GetRole', '<Role><Path>/</Path></Role>'));
      const { code, message } = await failureOf(roles(transport).get(name));
      expect(code).to.equal('Undecodable');
      expect(message).to.contain('Role.RoleName: expected string, got nothing');
    });
  });

  describe('create', () => {
    const wanted = { name, path: '/eks/', trust, permissionsBoundary: policy, tags: { a: 'b', c: 'd' } };

    it('sends all of it at once, and knows it from then on', async () => {
      const transport = FakeTransport.inOrder(result('CreateRole', role()));
      expect(await answerOf(roles(transport).create(wanted))).to.deep.equal({
        ...found,
        permissionsBoundary: policy,
        tags: { a: 'b', c: 'd' },
      });
      expect(transport.body(0)).to.deep.equal({
        Action: 'CreateRole',
        Version: '2010-05-08',
        RoleName: name,
        Path: '/eks/',
        AssumeRolePolicyDocument: trust,
        PermissionsBoundary: policy,
        'Tags.member.1.Key': 'a',
        'Tags.member.1.Value': 'b',
        'Tags.member.2.Key': 'c',
        'Tags.member.2.Value': 'd',
      });
    });

    it('a hard quota is not taken for throttling, and nothing is sent twice', async () => {
      const transport = new FakeTransport(() =>
        queryError('LimitExceeded', 'Cannot exceed quota for RolesPerAccount: 1000', 409),
      );
      const failure = await failureOf(roles(transport).create(wanted));
      expect(failure).to.satisfy(isQuotaExceeded).and.not.satisfy(isThrottled);
      expect(failure).to.include({ code: 'LimitExceeded', requestId: 'request-1', statusCode: 409 });
      expect(transport.requests).to.have.length(1);
    });
  });

  describe('lists', () => {
    it('go through all pages', async () => {
      const transport = FakeTransport.inOrder(
        result(
          'ListAttachedRolePolicies',
          '<AttachedPolicies><member><PolicyName>a</PolicyName><PolicyArn>arn:a</PolicyArn></member></AttachedPolicies>' +
            '<IsTruncated>true</IsTruncated><Marker>m1</Marker>',
        ),
        result(
          'ListAttachedRolePolicies',
          '<AttachedPolicies><member><PolicyName>b</PolicyName><PolicyArn>arn:b</PolicyArn></member></AttachedPolicies>' +
            '<IsTruncated>false</IsTruncated>',
        ),
      );
      expect(await answerOf(roles(transport).attachedPolicies(name))).to.deep.equal(['arn:a', 'arn:b']);
      expect(transport.body(1)).to.include({ Marker: 'm1' });
    });

    it('may be empty', async () => {
      const none = '<IsTruncated>false</IsTruncated>';
      const transport = FakeTransport.inOrder(
        result('ListAttachedRolePolicies', `<AttachedPolicies/>${none}`),
        result('ListRolePolicies', `<PolicyNames/>${none}`),
        result('ListInstanceProfilesForRole', `<InstanceProfiles/>${none}`),
      );
      const all = roles(transport);
      expect(await answerOf(all.attachedPolicies(name))).to.deep.equal([]);
      expect(await answerOf(all.inlinePolicies(name))).to.deep.equal([]);
      expect(await answerOf(all.instanceProfiles(name))).to.deep.equal([]);
    });

    it('name inline policies and instance profiles', async () => {
      const transport = FakeTransport.inOrder(
        result('ListRolePolicies', '<PolicyNames><member>inline</member></PolicyNames>'),
        result(
          'ListInstanceProfilesForRole',
          '<InstanceProfiles><member><InstanceProfileName>nodes</InstanceProfileName></member></InstanceProfiles>',
        ),
      );
      const all = roles(transport);
      expect(await answerOf(all.inlinePolicies(name))).to.deep.equal(['inline']);
      expect(await answerOf(all.instanceProfiles(name))).to.deep.equal(['nodes']);
    });

    it('are none where the way to the next page is missing', async () => {
      const transport = FakeTransport.inOrder(
        result('ListRolePolicies', '<PolicyNames><member>a</member></PolicyNames><IsTruncated>true</IsTruncated>'),
      );
      expect(await failureOf(roles(transport).inlinePolicies(name))).to.include({
        operation: 'ListRolePolicies',
        code: 'Undecodable',
      });
    });

    it('of a role that is gone fail', async () => {
      expect(await failureOf(roles(noSuch()).attachedPolicies(name))).to.satisfy(isNotFound);
    });
  });

  const calls: Readonly<Record<string, readonly [(all: PodExecutionRoles) => Call<void>, object]>> = {
    DeleteRole: [(all) => all.delete(name), {}],
    UpdateAssumeRolePolicy: [(all) => all.setTrust(name, trust), { PolicyDocument: trust }],
    PutRolePermissionsBoundary: [(all) => all.setBoundary(name, policy), { PermissionsBoundary: policy }],
    DeleteRolePermissionsBoundary: [(all) => all.removeBoundary(name), {}],
    AttachRolePolicy: [(all) => all.attach(name, policy), { PolicyArn: policy }],
    DetachRolePolicy: [(all) => all.detach(name, policy), { PolicyArn: policy }],
    TagRole: [(all) => all.tag(name, { a: 'b' }), { 'Tags.member.1.Key': 'a', 'Tags.member.1.Value': 'b' }],
    UntagRole: [(all) => all.untag(name, ['a']), { 'TagKeys.member.1': 'a' }],
  };
  const fineWhenGone = ['DeleteRolePermissionsBoundary', 'DetachRolePolicy', 'UntagRole'];

  for (const [operation, [call, parameters]] of Object.entries(calls)) {
    it(`${operation} says what it has to`, async () => {
      const transport = FakeTransport.inOrder(result(operation));
      expect(await answerOf(call(roles(transport)))).to.equal(undefined);
      expect(transport.body(0)).to.deep.equal({
        Action: operation,
        Version: '2010-05-08',
        RoleName: name,
        ...parameters,
      });
    });

    if (fineWhenGone.includes(operation)) {
      it(`${operation} is done where there is nothing left to take away`, async () => {
        expect(await answerOf(call(roles(noSuch())))).to.equal(undefined);
      });
    } else {
      it(`${operation} of a role that is gone fails`, async () => {
        expect(await failureOf(call(roles(noSuch())))).to.satisfy(isNotFound);
      });
    }

    it(`${operation} is not done because a proxy says 200`, async () => {
      const transport = new FakeTransport(() => page(200, '<html><body>log in</body></html>'));
      expect(await failureOf(call(roles(transport)))).to.include({ code: 'Undecodable' });
    });
  }

  it('a conflict of deletion keeps the words of IAM', async () => {
    const message = 'Cannot delete entity, must delete policies first.';
    const transport = new FakeTransport(() => queryError('DeleteConflict', message, 409));
    const failure = await failureOf(roles(transport).delete(name));
    expect(failure).to.satisfy(isDeleteConflict);
    expect(failure.message).to.equal(message);
  });

  it('calls nobody for nothing', async () => {
    const transport = new FakeTransport();
    await answerOf(roles(transport).tag(name, {}));
    await answerOf(roles(transport).untag(name, []));
    expect(transport.requests).to.deep.equal([]);
  });

  for (const [region, host, signedFor] of [
    ['eu-west-1', 'iam.amazonaws.com', 'us-east-1'],
    ['cn-northwest-1', 'iam.cn-north-1.amazonaws.com.cn', 'cn-north-1'],
    ['us-gov-east-1', 'iam.us-gov.amazonaws.com', 'us-gov-west-1'],
  ] as const) {
    it(`of ${region} are asked for at ${host}, signed for ${signedFor}`, async () => {
      const transport = FakeTransport.inOrder(result('GetRole', role()));
      await answerOf(roles(transport, region).get(name));
      expect(transport.requests[0]?.hostname).to.equal(host);
      expect(transport.requests[0]?.headers['authorization']).to.contain(`/${signedFor}/iam/aws4_request`);
    });
  }
});
