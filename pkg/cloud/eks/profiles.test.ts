import { expect } from 'chai';
import { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import { SeededRandom } from '../../env/testing/seeded-random.ts';
import type { CallContext } from '../call/call.ts';
import { isUnavailable } from '../errors/errors.ts';
import { expectResponse, expectFailure, CallHarness } from '../testing/calls.ts';
import { FakeTransport, eksError, jsonResponse, proxyPage } from '../testing/fake-transport.ts';
import type { FargateProfiles } from './eks-api.ts';
import { fargateProfiles } from './profiles.ts';

const cluster = EksClusterName.of('default_prod');
const name = ProfileName.of('team-a_web');
const arn = 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/default_prod/team-a_web/0a1b';
const raw = {
  fargateProfileName: 'team-a_web',
  fargateProfileArn: arn,
  clusterName: 'default_prod',
  createdAt: 1_700_000_000.5,
  podExecutionRoleArn: 'arn:aws:iam::111122223333:role/r',
  status: 'ACTIVE',
};

function profiles(transport: FakeTransport, caller: Partial<CallContext> = {}): FargateProfiles {
  const harness = new CallHarness(transport);
  return fargateProfiles(harness.clients.eks, harness.newCalls('eks', caller), new SeededRandom(1));
}

describe('Fargate profiles', () => {
  describe('describe', () => {
    it('returns a profile with empty defaults for the fields that EKS omits', async () => {
      const transport = FakeTransport.inOrder(jsonResponse({ fargateProfile: raw }));
      expect(await expectResponse(profiles(transport).describe(cluster, name))).to.deep.equal({
        kind: 'found',
        profile: {
          name,
          arn,
          cluster,
          status: 'ACTIVE',
          podExecutionRoleArn: 'arn:aws:iam::111122223333:role/r',
          subnets: [],
          selectors: [],
          tags: {},
          createdAt: 1_700_000_000_500,
          health: [],
        },
      });
      expect(transport.requests[0]).to.include({
        method: 'GET',
        protocol: 'https:',
        hostname: 'eks.eu-west-1.amazonaws.com',
        path: '/clusters/default_prod/fargate-profiles/team-a_web',
      });
    });

    it('returns all fields of a profile, and keeps an unknown status', async () => {
      const transport = FakeTransport.inOrder(
        jsonResponse({
          fargateProfile: {
            ...raw,
            status: 'PAUSED',
            subnets: ['subnet-1'],
            selectors: [{ namespace: 'web', labels: { app: 'x' } }, { namespace: 'api' }],
            tags: { a: 'b' },
            health: {
              issues: [{ code: 'AccessDenied', message: 'no', resourceIds: ['r'] }, { code: 'InternalFailure' }],
            },
            novelty: 1,
          },
        }),
      );
      expect(await expectResponse(profiles(transport).describe(cluster, name))).to.deep.include({
        profile: {
          name,
          arn,
          cluster,
          status: 'PAUSED',
          podExecutionRoleArn: 'arn:aws:iam::111122223333:role/r',
          subnets: ['subnet-1'],
          selectors: [
            { namespace: 'web', labels: { app: 'x' } },
            { namespace: 'api', labels: {} },
          ],
          tags: { a: 'b' },
          createdAt: 1_700_000_000_500,
          health: [
            { code: 'AccessDenied', message: 'no', resourceIds: ['r'] },
            { code: 'InternalFailure', message: '', resourceIds: [] },
          ],
        },
      });
    });

    it('distinguishes a missing profile from a missing cluster', async () => {
      const transport = FakeTransport.inOrder(
        eksError('ResourceNotFoundException', 'No Fargate Profile found with name: team-a_web.', 404),
        eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404),
      );
      const all = profiles(transport);
      expect(await expectResponse(all.describe(cluster, name))).to.deep.equal({ kind: 'absent' });
      expect(await expectResponse(all.describe(cluster, name))).to.deep.equal({ kind: 'clusterGone' });
    });

    it("does not take a proxy's 404 for a missing profile", async () => {
      const transport = FakeTransport.inOrder(proxyPage(404));
      expect(await expectFailure(profiles(transport).describe(cluster, name))).to.include({
        code: 'Undecodable',
        statusCode: 404,
        message: 'HTTP 404 with a body that is not a response of AWS',
      });
    });

    const nonsense: Readonly<Record<string, readonly [unknown, string]>> = {
      'no profile': [{}, 'fargateProfile: expected object, got nothing'],
      'no name': [
        { fargateProfile: { ...raw, fargateProfileName: undefined } },
        'fargateProfile.fargateProfileName: expected string, got nothing',
      ],
      'a status that is no word': [
        { fargateProfile: { ...raw, status: null } },
        'fargateProfile.status: expected string, got nothing',
      ],
    };
    for (const [what, [body, problem]] of Object.entries(nonsense)) {
      it(`rejects a response with ${what} and names its path`, async () => {
        const failure = await expectFailure(
          profiles(FakeTransport.inOrder(jsonResponse(body))).describe(cluster, name),
        );
        expect(failure).to.include({ code: 'Undecodable', message: `the response is not as expected: ${problem}` });
      });
    }
  });

  describe('list', () => {
    it('reads all pages', async () => {
      const transport = FakeTransport.inOrder(
        jsonResponse({ fargateProfileNames: ['a', 'b'], nextToken: 't 1' }),
        jsonResponse({ fargateProfileNames: ['c'], nextToken: '' }),
      );
      expect(await expectResponse(profiles(transport).list(cluster))).to.deep.equal({
        kind: 'listed',
        names: ['a', 'b', 'c'],
      });
      expect(transport.requests.map(({ query }) => query)).to.deep.equal([
        { maxResults: '100' },
        { maxResults: '100', nextToken: 't 1' },
      ]);
    });

    it('fails when a page token repeats', async () => {
      const transport = new FakeTransport(() => jsonResponse({ fargateProfileNames: ['a'], nextToken: 'same' }));
      expect(await expectFailure(profiles(transport).list(cluster))).to.deep.equal({
        service: 'eks',
        operation: 'ListFargateProfiles',
        code: 'Undecodable',
        message: 'the listing has no end',
      });
      expect(transport.requests).to.have.length(2);
    });

    it('fails when one page fails', async () => {
      const transport = FakeTransport.inOrder(
        jsonResponse({ fargateProfileNames: ['a'], nextToken: 't' }),
        eksError('ServerException', 'oops', 500),
      );
      expect(await expectFailure(profiles(transport).list(cluster))).to.include({ code: 'ServerException' });
    });

    it('reports a missing cluster', async () => {
      const transport = FakeTransport.inOrder(
        eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404),
      );
      expect(await expectResponse(profiles(transport).list(cluster))).to.deep.equal({ kind: 'clusterGone' });
    });
  });

  describe('create', () => {
    const wanted = {
      cluster,
      name,
      podExecutionRoleArn: RoleArn.of('arn:aws:iam::111122223333:role/r'),
      subnets: ['subnet-1', 'subnet-2'],
      selectors: [{ namespace: 'web', labels: { app: 'x' } }],
      tags: { a: 'b' },
    };

    it('sends all fields and tags in one request, with a new token for each attempt', async () => {
      const transport = FakeTransport.inOrder(
        jsonResponse({ fargateProfile: raw }),
        jsonResponse({ fargateProfile: raw }),
      );
      const all = profiles(transport);
      expect(await expectResponse(all.create(wanted))).to.include({ name });
      await expectResponse(all.create(wanted));
      expect(transport.requests[0]).to.include({ method: 'POST', path: '/clusters/default_prod/fargate-profiles' });
      const { clientRequestToken: first, ...body } = transport.body(0);
      expect(body).to.deep.equal({
        fargateProfileName: 'team-a_web',
        podExecutionRoleArn: 'arn:aws:iam::111122223333:role/r',
        subnets: ['subnet-1', 'subnet-2'],
        selectors: [{ namespace: 'web', labels: { app: 'x' } }],
        tags: { a: 'b' },
      });
      expect(first).to.match(/^[0-9a-f-]{36}$/);
      expect(transport.body(1)['clientRequestToken']).to.not.equal(first);
    });

    it('is sent once, whatever its result', async () => {
      for (const answer of [
        eksError('ServerException', 'oops', 500),
        eksError('ThrottlingException', 'slow down', 429),
        proxyPage(503),
      ]) {
        const transport = new FakeTransport(() => answer);
        await expectFailure(profiles(transport).create(wanted));
        expect(transport.requests).to.have.length(1);
      }
    });
  });

  it('are deleted with DELETE, and a missing profile is a failure', async () => {
    const transport = FakeTransport.inOrder(
      jsonResponse({ fargateProfile: { ...raw, status: 'DELETING' } }),
      eksError('ResourceNotFoundException', 'No Fargate Profile found with name: team-a_web.', 404),
    );
    const all = profiles(transport);
    expect(await expectResponse(all.delete(cluster, name))).to.equal(undefined);
    expect(transport.requests[0]).to.include({
      method: 'DELETE',
      path: '/clusters/default_prod/fargate-profiles/team-a_web',
    });
    expect(await expectFailure(all.delete(cluster, name))).to.include({ code: 'ResourceNotFoundException' });
  });

  it('are tagged and untagged by ARN', async () => {
    const transport = new FakeTransport(() => jsonResponse({}));
    const all = profiles(transport);
    await expectResponse(all.tag(arn, { a: 'b' }));
    await expectResponse(all.untag(arn, ['a', 'c d']));
    expect(transport.requests.map(({ method, path, query }) => [method, path, query])).to.deep.equal([
      ['POST', `/tags/${encodeURIComponent(arn)}`, {}],
      ['DELETE', `/tags/${encodeURIComponent(arn)}`, { tagKeys: ['a', 'c d'] }],
    ]);
    expect(transport.body(0)).to.deep.equal({ tags: { a: 'b' } });
  });

  describe('with a response that is not from AWS', () => {
    it('do not take a 200 page for a successful deletion', async () => {
      expect(await expectFailure(profiles(FakeTransport.inOrder(proxyPage(200))).delete(cluster, name))).to.include({
        code: 'Undecodable',
        statusCode: 200,
      });
    });

    it('report an empty 500 as an outage of AWS', async () => {
      const failure = await expectFailure(profiles(FakeTransport.inOrder(proxyPage(500, ''))).describe(cluster, name));
      expect(failure).to.satisfy(isUnavailable);
    });
  });

  it('send the user agent of this manager', async () => {
    const transport = FakeTransport.inOrder(jsonResponse({ fargateProfile: raw }));
    await expectResponse(profiles(transport).describe(cluster, name));
    expect(transport.requests[0]?.headers['user-agent']).to.contain(' cluster-api-provider-aws-fargate/v1.2.3');
  });
});
