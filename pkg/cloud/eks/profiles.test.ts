import { expect } from 'chai';
import { toUndefined } from 'fp-ts/lib/Option.js';
import { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import { SeededRandom } from '../../env/testing/seeded-random.ts';
import type { Caller } from '../call.ts';
import { busySibling, isUnavailable } from '../errors.ts';
import { answerOf, failureOf, Workbench } from '../testing/calls.ts';
import { FakeTransport, eksError, json, page } from '../testing/fake-transport.ts';
import type { FargateProfiles } from '../types.ts';
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

function profiles(transport: FakeTransport, caller: Partial<Caller> = {}): FargateProfiles {
  const bench = new Workbench(transport);
  return fargateProfiles(bench.clients.eks, bench.calling('eks', caller), new SeededRandom(1));
}

describe('Fargate profiles', () => {
  describe('describe', () => {
    it('finds a profile, filling in what EKS leaves out', async () => {
      const transport = FakeTransport.inOrder(json({ fargateProfile: raw }));
      expect(await answerOf(profiles(transport).describe(cluster, name))).to.deep.equal({
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

    it('reads everything that a profile can say, and a status that is not known yet', async () => {
      const transport = FakeTransport.inOrder(
        json({
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
      expect(await answerOf(profiles(transport).describe(cluster, name))).to.deep.include({
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
          health: [
            { code: 'AccessDenied', message: 'no', resourceIds: ['r'] },
            { code: 'InternalFailure', message: '', resourceIds: [] },
          ],
        },
      });
    });

    it('tells a missing profile from a missing cluster', async () => {
      const transport = FakeTransport.inOrder(
        eksError('ResourceNotFoundException', 'No Fargate Profile found with name: team-a_web.', 404),
        eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404),
      );
      const all = profiles(transport);
      expect(await answerOf(all.describe(cluster, name))).to.deep.equal({ kind: 'absent' });
      expect(await answerOf(all.describe(cluster, name))).to.deep.equal({ kind: 'clusterGone' });
    });

    it("does not take a proxy's 404 for a missing profile", async () => {
      const transport = FakeTransport.inOrder(page(404));
      expect(await failureOf(profiles(transport).describe(cluster, name))).to.include({
        code: 'Undecodable',
        statusCode: 404,
        message: 'HTTP 404 with a body that is no answer of AWS',
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
      it(`an answer with ${what} is refused with its path`, async () => {
        const failure = await failureOf(profiles(FakeTransport.inOrder(json(body))).describe(cluster, name));
        expect(failure).to.include({ code: 'Undecodable', message: `the answer is not as expected: ${problem}` });
      });
    }
  });

  describe('list', () => {
    it('goes through all pages', async () => {
      const transport = FakeTransport.inOrder(
        json({ fargateProfileNames: ['a', 'b'], nextToken: 't 1' }),
        json({ fargateProfileNames: ['c'], nextToken: '' }),
      );
      expect(await answerOf(profiles(transport).list(cluster))).to.deep.equal({
        kind: 'listed',
        names: ['a', 'b', 'c'],
      });
      expect(transport.requests.map(({ query }) => query)).to.deep.equal([
        { maxResults: '100' },
        { maxResults: '100', nextToken: 't 1' },
      ]);
    });

    it('is no listing where it leads back to itself', async () => {
      const transport = new FakeTransport(() => json({ fargateProfileNames: ['a'], nextToken: 'same' }));
      expect(await failureOf(profiles(transport).list(cluster))).to.deep.equal({
        service: 'eks',
        operation: 'ListFargateProfiles',
        code: 'Undecodable',
        message: 'the listing has no end',
      });
      expect(transport.requests).to.have.length(2);
    });

    it('fails as a whole when one page does', async () => {
      const transport = FakeTransport.inOrder(
        json({ fargateProfileNames: ['a'], nextToken: 't' }),
        eksError('ServerException', 'oops', 500),
      );
      expect(await failureOf(profiles(transport).list(cluster))).to.include({ code: 'ServerException' });
    });

    it('says when the cluster is gone', async () => {
      const transport = FakeTransport.inOrder(
        eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404),
      );
      expect(await answerOf(profiles(transport).list(cluster))).to.deep.equal({ kind: 'clusterGone' });
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

    it('sends all of it at once, tags included, with a token of its own for each attempt', async () => {
      const transport = FakeTransport.inOrder(json({ fargateProfile: raw }), json({ fargateProfile: raw }));
      const all = profiles(transport);
      expect(await answerOf(all.create(wanted))).to.include({ name });
      await answerOf(all.create(wanted));
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

    it('is sent once, whatever comes of it', async () => {
      for (const answer of [
        eksError('ServerException', 'oops', 500),
        eksError('ThrottlingException', 'slow down', 429),
        page(503),
      ]) {
        const transport = new FakeTransport(() => answer);
        await failureOf(profiles(transport).create(wanted));
        expect(transport.requests).to.have.length(1);
      }
    });

    it('tells a busy sibling', async () => {
      const transport = FakeTransport.inOrder(
        eksError(
          'ResourceInUseException',
          'Cannot create Fargate Profile b because cluster c currently has Fargate profile a in status CREATING',
          409,
        ),
      );
      const failure = await failureOf(profiles(transport).create(wanted));
      expect(toUndefined(busySibling(failure))).to.deep.equal({ name: 'a', status: 'CREATING' });
      expect(failure).to.include({ requestId: 'request-1', statusCode: 409 });
    });

    it('is not sent when leadership has run out', async () => {
      const transport = new FakeTransport();
      const failure = await failureOf(profiles(transport, { mutationBudget: () => 0 }).create(wanted));
      expect(failure.code).to.equal('NotDispatched');
      expect(transport.requests).to.deep.equal([]);
    });

    it('does not fail to describe for lack of leadership', async () => {
      const transport = FakeTransport.inOrder(json({ fargateProfile: raw }));
      await answerOf(profiles(transport, { mutationBudget: () => 0 }).describe(cluster, name));
    });
  });

  it('delete is a DELETE, and a missing profile a failure to judge', async () => {
    const transport = FakeTransport.inOrder(
      json({ fargateProfile: { ...raw, status: 'DELETING' } }),
      eksError('ResourceNotFoundException', 'No Fargate Profile found with name: team-a_web.', 404),
    );
    const all = profiles(transport);
    expect(await answerOf(all.delete(cluster, name))).to.equal(undefined);
    expect(transport.requests[0]).to.include({
      method: 'DELETE',
      path: '/clusters/default_prod/fargate-profiles/team-a_web',
    });
    expect(await failureOf(all.delete(cluster, name))).to.include({ code: 'ResourceNotFoundException' });
  });

  it('tags and untags by ARN, and calls nobody for nothing', async () => {
    const transport = new FakeTransport(() => json({}));
    const all = profiles(transport);
    await answerOf(all.tag(arn, { a: 'b' }));
    await answerOf(all.untag(arn, ['a', 'c d']));
    await answerOf(all.tag(arn, {}));
    await answerOf(all.untag(arn, []));
    expect(transport.requests.map(({ method, path, query }) => [method, path, query])).to.deep.equal([
      ['POST', `/tags/${encodeURIComponent(arn)}`, {}],
      ['DELETE', `/tags/${encodeURIComponent(arn)}`, { tagKeys: ['a', 'c d'] }],
    ]);
    expect(transport.body(0)).to.deep.equal({ tags: { a: 'b' } });
  });

  describe('answers that are none of AWS', () => {
    it('a 503 page means that AWS is unavailable', async () => {
      expect(await failureOf(profiles(FakeTransport.inOrder(page(503))).describe(cluster, name)))
        .to.include({ code: 'Undecodable', statusCode: 503 })
        .and.satisfy(isUnavailable);
    });

    it('a 200 page is no success of a deletion', async () => {
      expect(await failureOf(profiles(FakeTransport.inOrder(page(200))).delete(cluster, name))).to.include({
        code: 'Undecodable',
        statusCode: 200,
      });
    });

    it('an empty 500 is AWS unavailable', async () => {
      const failure = await failureOf(profiles(FakeTransport.inOrder(page(500, ''))).describe(cluster, name));
      expect(failure).to.satisfy(isUnavailable);
    });

    it('a broken connection has an unknown effect', async () => {
      const transport = new FakeTransport(() =>
        Promise.reject(Object.assign(new Error('read ECONNRESET'), { name: 'TimeoutError', code: 'ECONNRESET' })),
      );
      expect(await failureOf(profiles(transport).delete(cluster, name))).to.include({
        code: 'NoAnswer',
        message: 'read ECONNRESET',
      });
    });
  });

  it('says who it is', async () => {
    const transport = FakeTransport.inOrder(json({ fargateProfile: raw }));
    await answerOf(profiles(transport).describe(cluster, name));
    expect(transport.requests[0]?.headers['user-agent']).to.contain(' cluster-api-provider-aws-fargate/v1.2.3');
  });
});
