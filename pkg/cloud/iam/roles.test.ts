import { expect } from 'chai';
import { RoleName } from '../../../api/names.ts';
import { isQuotaExceeded, isThrottled } from '../errors/error-codes.ts';
import { expectResponse, expectFailure, outcomeOf, CallHarness } from '../testing/calls.ts';
import { FakeTransport, proxyPage, queryError, queryResponse } from '../testing/fake-transport.ts';
import type { PodExecutionRoles } from './iam-api.ts';
import type { Call } from '../call/call.ts';
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
  createdAt: 1_767_225_600_000,
  path: '/eks/',
  trust,
  tags: {},
};

function roles(transport: FakeTransport): PodExecutionRoles {
  const harness = new CallHarness(transport);
  return podExecutionRoles(harness.clients.iam, harness.newCalls('iam'));
}

const noSuch = (): FakeTransport =>
  new FakeTransport(() => queryError('NoSuchEntity', 'The role with name prod-web_fargate cannot be found.', 404));

describe('Pod execution roles', () => {
  describe('get', () => {
    it('decodes the trust policy', async () => {
      const transport = FakeTransport.inOrder(queryResponse('GetRole', role()));
      expect(await expectResponse(roles(transport).get(name))).to.deep.equal(found);
      expect(transport.body(0)).to.deep.equal({ Action: 'GetRole', Version: '2010-05-08', RoleName: name });
    });

    it('keeps a trust policy that is not percent-encoded', async () => {
      const transport = FakeTransport.inOrder(queryResponse('GetRole', role('', '100%')));
      expect(await expectResponse(roles(transport).get(name))).to.deep.equal({ ...found, trust: '100%' });
    });

    it('returns boundary and tags', async () => {
      const extra =
        '<PermissionsBoundary><PermissionsBoundaryType>Policy</PermissionsBoundaryType>' +
        `<PermissionsBoundaryArn>${policy}</PermissionsBoundaryArn></PermissionsBoundary>` +
        '<Tags><member><Key>a</Key><Value>b</Value></member><member><Key>empty</Key><Value></Value></member></Tags>';
      const transport = FakeTransport.inOrder(queryResponse('GetRole', role(extra)));
      expect(await expectResponse(roles(transport).get(name))).to.deep.equal({
        ...found,
        permissionsBoundary: policy,
        tags: { a: 'b', empty: '' },
      });
    });

    it('rejects a response without a role and names the path', async () => {
      const transport = FakeTransport.inOrder(queryResponse('GetRole', '<Role><Path>/</Path></Role>'));
      const { code, message } = await expectFailure(roles(transport).get(name));
      expect(code).to.equal('Undecodable');
      expect(message).to.contain('Role.RoleName: expected string, got nothing');
    });
  });

  describe('create', () => {
    const wanted = { name, path: '/eks/', trust, permissionsBoundary: policy, tags: { a: 'b', c: 'd' } };

    it('sends all fields in one request and returns them', async () => {
      const transport = FakeTransport.inOrder(queryResponse('CreateRole', role()));
      expect(await expectResponse(roles(transport).create(wanted))).to.deep.equal({
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

    it('does not take a quota for throttling, and sends nothing twice', async () => {
      const transport = new FakeTransport(() =>
        queryError('LimitExceeded', 'Cannot exceed quota for RolesPerAccount: 1000', 409),
      );
      const failure = await expectFailure(roles(transport).create(wanted));
      expect(failure).to.satisfy(isQuotaExceeded).and.not.satisfy(isThrottled);
      expect(failure).to.include({ code: 'LimitExceeded', requestId: 'request-1', statusCode: 409 });
      expect(transport.requests).to.have.length(1);
    });
  });

  describe('listings', () => {
    it('read all pages', async () => {
      const transport = FakeTransport.inOrder(
        queryResponse(
          'ListAttachedRolePolicies',
          '<AttachedPolicies><member><PolicyName>a</PolicyName><PolicyArn>arn:a</PolicyArn></member></AttachedPolicies>' +
            '<IsTruncated>true</IsTruncated><Marker>m1</Marker>',
        ),
        queryResponse(
          'ListAttachedRolePolicies',
          '<AttachedPolicies><member><PolicyName>b</PolicyName><PolicyArn>arn:b</PolicyArn></member></AttachedPolicies>' +
            '<IsTruncated>false</IsTruncated>',
        ),
      );
      expect(await expectResponse(roles(transport).attachedPolicies(name))).to.deep.equal(['arn:a', 'arn:b']);
      expect(transport.body(1)).to.include({ Marker: 'm1' });
    });

    it('fail when the marker of the next page is missing', async () => {
      const transport = FakeTransport.inOrder(
        queryResponse(
          'ListRolePolicies',
          '<PolicyNames><member>a</member></PolicyNames><IsTruncated>true</IsTruncated>',
        ),
      );
      expect(await expectFailure(roles(transport).inlinePolicies(name))).to.include({
        operation: 'ListRolePolicies',
        code: 'Undecodable',
      });
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

  for (const [operation, [call, parameters]] of Object.entries(calls))
    it(`${operation} sends its parameters, and tells AWS's answers apart`, async () => {
      const transport = FakeTransport.inOrder(queryResponse(operation));
      expect(await outcomeOf(call(roles(transport)))).to.equal(undefined);
      const sent = { Action: operation, Version: '2010-05-08', RoleName: name, ...parameters };
      expect(transport.body(0)).to.deep.equal(sent);
      const whenGone = await outcomeOf(call(roles(noSuch())));
      if (fineWhenGone.includes(operation)) expect(whenGone).to.equal(undefined);
      else expect(whenGone).to.include({ code: 'NoSuchEntity' });
      const proxy = new FakeTransport(() => proxyPage(200));
      expect(await expectFailure(call(roles(proxy)))).to.include({ code: 'Undecodable' });
    });
});
