import { expect } from 'chai';
import { SeededRandom } from 'controller-runtime/testing';
import { EksClusterName, ProfileName, RoleArn } from '../../../api/names.ts';
import type { Call } from '../call/call.ts';
import { isUnavailable } from '../errors/error-codes.ts';
import { CallHarness, expectFailure, expectResponse, outcomeOf } from '../testing/calls.ts';
import { FakeTransport, eksError, jsonResponse, proxyPage } from '../testing/fake-transport.ts';
import type { AwsResponse } from '../transport/transport.ts';
import type { FargateProfiles } from './eks-api.ts';
import { fargateProfiles } from './profiles.ts';

const cluster = EksClusterName.of('default_prod');
const name = ProfileName.of('team-a_web');
const arn = 'arn:aws:eks:eu-west-1:111122223333:fargateprofile/default_prod/team-a_web/0a1b';
const podExecutionRoleArn = RoleArn.of('arn:aws:iam::111122223333:role/r');
const raw = {
  fargateProfileName: 'team-a_web',
  fargateProfileArn: arn,
  clusterName: 'default_prod',
  createdAt: 1_700_000_000.5,
  podExecutionRoleArn,
  status: 'ACTIVE',
};
const decoded = { name, arn, cluster, podExecutionRoleArn, createdAt: 1_700_000_000_500 };
const NOT_FOUND = eksError('ResourceNotFoundException', 'No Fargate Profile found with name: team-a_web.', 404);
const NO_CLUSTER = eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404);
const OUTAGE = eksError('ServerException', 'oops', 500);

function profiles(transport: FakeTransport): FargateProfiles {
  const harness = new CallHarness(transport);
  return fargateProfiles(harness.clients.eks, harness.newCalls('eks'), new SeededRandom(1));
}

// The simulation tests cover what creating, tagging, and deleting change in AWS.
describe('Fargate profiles', () => {
  const describeOne = (all: FargateProfiles) => all.describe(cluster, name);
  const list = (all: FargateProfiles) => all.list(cluster);
  const remove = (all: FargateProfiles) => all.delete(cluster, name);
  const rows: readonly (readonly [
    what: string,
    call: (all: FargateProfiles) => Call<unknown>,
    answers: readonly AwsResponse[],
    outcome: object | undefined,
  ])[] = [
    [
      'a profile without the fields that EKS omits has empty ones',
      describeOne,
      [jsonResponse({ fargateProfile: raw })],
      {
        kind: 'found',
        profile: { ...decoded, status: 'ACTIVE', subnets: [], selectors: [], tags: {}, health: [] },
      },
    ],
    [
      'a profile has all fields, also a status that is not known',
      describeOne,
      [
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
      ],
      {
        profile: {
          ...decoded,
          status: 'PAUSED',
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
      },
    ],
    ['a missing profile is absent', describeOne, [NOT_FOUND], { kind: 'absent' }],
    ['a missing cluster is another answer', describeOne, [NO_CLUSTER], { kind: 'clusterGone' }],
    [
      "a proxy's 404 is no missing profile",
      describeOne,
      [proxyPage(404)],
      { code: 'Undecodable', statusCode: 404, message: 'HTTP 404 with a body that is not a response of AWS' },
    ],
    [
      'a response without profile',
      describeOne,
      [jsonResponse({})],
      {
        code: 'Undecodable',
        message: 'the response is not as expected: fargateProfile: expected object, got nothing',
      },
    ],
    [
      'a list has all pages',
      list,
      [
        jsonResponse({ fargateProfileNames: ['a', 'b'], nextToken: 't 1' }),
        jsonResponse({ fargateProfileNames: ['c'], nextToken: '' }),
      ],
      { kind: 'listed', names: ['a', 'b', 'c'] },
    ],
    [
      'a list whose page token repeats',
      list,
      ['same', 'same'].map((nextToken) => jsonResponse({ fargateProfileNames: ['a'], nextToken })),
      { code: 'Undecodable', message: 'the listing has no end', operation: 'ListFargateProfiles' },
    ],
    [
      'a list with a page that fails',
      list,
      [jsonResponse({ fargateProfileNames: ['a'], nextToken: 't' }), OUTAGE],
      { code: 'ServerException' },
    ],
    ['a list in a missing cluster', list, [NO_CLUSTER], { kind: 'clusterGone' }],
    ['a deletion has no result', remove, [jsonResponse({ fargateProfile: { ...raw, status: 'DELETING' } })], undefined],
    ['the deletion of a missing profile', remove, [NOT_FOUND], { code: 'ResourceNotFoundException' }],
    ["a deletion with a proxy's 200", remove, [proxyPage(200)], { code: 'Undecodable', statusCode: 200 }],
  ];
  for (const [what, call, answers, outcome] of rows)
    it(what, async () => {
      const transport = FakeTransport.inOrder(...answers);
      const found = await outcomeOf(call(profiles(transport)));
      if (outcome === undefined) expect(found).to.equal(undefined);
      else expect(found).to.deep.include(outcome);
      expect(transport.requests).to.have.length(answers.length);
    });

  it('report an empty 500 as an outage of AWS', async () => {
    const failure = await expectFailure(describeOne(profiles(FakeTransport.inOrder(proxyPage(500, '')))));
    expect(failure).to.satisfy(isUnavailable);
  });

  describe('create', () => {
    const selectors = [{ namespace: 'web', labels: { app: 'x' } }];
    const wanted = { cluster, name, podExecutionRoleArn, subnets: ['subnet-1'], selectors, tags: { a: 'b' } };

    it('has a new token for each attempt', async () => {
      const transport = new FakeTransport(() => jsonResponse({ fargateProfile: raw }));
      const all = profiles(transport);
      for (let attempt = 0; attempt < 2; attempt++) await expectResponse(all.create(wanted));
      const [first, second] = [0, 1].map((index) => transport.body(index)['clientRequestToken']);
      expect(first).to.match(/^[0-9a-f-]{36}$/);
      expect(second).to.not.equal(first);
    });

    it('is sent once, whatever its result', async () => {
      for (const answer of [OUTAGE, eksError('ThrottlingException', 'slow down', 429), proxyPage(503)]) {
        const transport = new FakeTransport(() => answer);
        await expectFailure(profiles(transport).create(wanted));
        expect(transport.requests).to.have.length(1);
      }
    });
  });

  it('send the user agent of this manager', async () => {
    const transport = FakeTransport.inOrder(NOT_FOUND);
    await expectResponse(describeOne(profiles(transport)));
    expect(transport.requests[0]?.headers['user-agent']).to.contain(' cluster-api-provider-aws-fargate/v1.2.3');
  });
});
