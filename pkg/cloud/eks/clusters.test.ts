import { expect } from 'chai';
import { SeededRandom } from 'controller-runtime/testing';
import { EksClusterName, RoleArn } from '../../../api/names.ts';
import { CallHarness, outcomeOf } from '../testing/calls.ts';
import { FakeTransport, eksError, jsonResponse, proxyPage } from '../testing/fake-transport.ts';
import { accessEntries, eksClusters } from './clusters.ts';

const name = EksClusterName.of('default_prod');
const role = RoleArn.of('arn:aws:iam::111122223333:role/eks/pods');
const path = '/clusters/default_prod/access-entries/arn%3Aaws%3Aiam%3A%3A111122223333%3Arole%2Feks%2Fpods';
const accessEntry = { principalArn: role, type: 'FARGATE_LINUX', createdAt: 1_700_000_000.5, kubernetesGroups: [] };
const entry = { type: 'FARGATE_LINUX', createdAt: 1_700_000_000_500 };
const cluster = { status: 'ACTIVE' };
const NO_ENTRY = eksError('ResourceNotFoundException', 'The specified principalArn could not be found.', 404);
const NO_CLUSTER = eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404);

function clientOf(transport: FakeTransport) {
  const harness = new CallHarness(transport);
  const { eks } = harness.clients;
  const calls = harness.newCalls('eks');
  return { entries: accessEntries(eks, calls, new SeededRandom(1)), clusters: eksClusters(eks, calls) };
}

describe('Access entries', () => {
  for (const [what, answer, outcome] of [
    ['an entry has its type and the time of its creation', jsonResponse({ accessEntry }), { kind: 'found', entry }],
    ['a missing entry is absent', NO_ENTRY, { kind: 'absent' }],
    ['a missing cluster is another answer', NO_CLUSTER, { kind: 'clusterGone' }],
    ['a refusal fails', eksError('AccessDeniedException', 'no', 403), { code: 'AccessDeniedException' }],
    ["a proxy's 404 is no missing entry", proxyPage(404), { code: 'Undecodable' }],
  ] as const)
    it(what, async () => {
      const transport = FakeTransport.inOrder(answer);
      expect(await outcomeOf(clientOf(transport).entries.describe(name, role))).to.deep.include(outcome);
      expect(transport.requests[0]).to.include({ method: 'GET', path });
    });

  it('are created with type FARGATE_LINUX and a new client request token', async () => {
    const transport = new FakeTransport(() => jsonResponse({ accessEntry }));
    const { entries } = clientOf(transport);
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await outcomeOf(entries.create(name, role))).to.equal(undefined);
    const [first, second] = [transport.body(0), transport.body(1)];
    expect(first).to.include({ principalArn: role, type: 'FARGATE_LINUX' });
    expect(first['clientRequestToken']).not.to.equal(second['clientRequestToken']);
  });
});

describe('EKS clusters', () => {
  for (const [what, answer, outcome] of [
    [
      'have an authentication mode',
      jsonResponse({ cluster: { ...cluster, accessConfig: { authenticationMode: 'API' } } }),
      { ...cluster, authenticationMode: 'API' },
    ],
    ['may have none', jsonResponse({ cluster }), cluster],
    ['may not exist', NO_CLUSTER, undefined],
  ] as const)
    it(what, async () => {
      const described = clientOf(FakeTransport.inOrder(answer)).clusters.describe(name);
      expect(await outcomeOf(described)).to.deep.equal(outcome);
    });
});
