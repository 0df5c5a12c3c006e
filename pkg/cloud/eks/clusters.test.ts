import { expect } from 'chai';
import { EksClusterName, RoleArn } from '../../../api/names.ts';
import { SeededRandom } from '../../env/testing/seeded-random.ts';
import { expectResponse, expectFailure, CallHarness } from '../testing/calls.ts';
import { FakeTransport, eksError, jsonResponse, proxyPage } from '../testing/fake-transport.ts';
import type { AccessEntries, EksClusters } from './eks-api.ts';
import { accessEntries, eksClusters } from './clusters.ts';

const cluster = EksClusterName.of('default_prod');
const role = RoleArn.of('arn:aws:iam::111122223333:role/eks/pods');
const path = '/clusters/default_prod/access-entries/arn%3Aaws%3Aiam%3A%3A111122223333%3Arole%2Feks%2Fpods';
const raw = { principalArn: role, type: 'FARGATE_LINUX', createdAt: 1_700_000_000.5, kubernetesGroups: [] };
const entry = { principalArn: role, type: 'FARGATE_LINUX', createdAt: 1_700_000_000_500 };

function entries(transport: FakeTransport): AccessEntries {
  const harness = new CallHarness(transport);
  return accessEntries(harness.clients.eks, harness.newCalls('eks'), new SeededRandom(1));
}

describe('Access entries', () => {
  it('describes an entry with its type and the time of its creation', async () => {
    const transport = FakeTransport.inOrder(jsonResponse({ accessEntry: raw }));
    expect(await expectResponse(entries(transport).describe(cluster, role))).to.deep.equal({ kind: 'found', entry });
    expect(transport.requests[0]).to.include({ method: 'GET', path });
  });

  it('distinguishes a missing entry from a missing cluster', async () => {
    const transport = FakeTransport.inOrder(
      eksError('ResourceNotFoundException', 'The specified principalArn could not be found.', 404),
      eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404),
    );
    const all = entries(transport);
    expect(await expectResponse(all.describe(cluster, role))).to.deep.equal({ kind: 'absent' });
    expect(await expectResponse(all.describe(cluster, role))).to.deep.equal({ kind: 'clusterGone' });
  });

  it('fails when EKS refuses the call, and when a proxy answers', async () => {
    const transport = FakeTransport.inOrder(
      eksError('AccessDeniedException', 'no', 403),
      eksError('InvalidRequestException', 'The authentication mode is CONFIG_MAP.', 400),
      proxyPage(404),
    );
    const all = entries(transport);
    expect(await expectFailure(all.describe(cluster, role))).to.include({ code: 'AccessDeniedException' });
    expect(await expectFailure(all.describe(cluster, role))).to.include({ code: 'InvalidRequestException' });
    expect(await expectFailure(all.describe(cluster, role))).to.include({ code: 'Undecodable' });
  });

  it('creates an entry of type FARGATE_LINUX with a new client request token', async () => {
    const transport = new FakeTransport(() => jsonResponse({ accessEntry: raw }));
    const all = entries(transport);
    expect(await expectResponse(all.create(cluster, role))).to.deep.equal(entry);
    await expectResponse(all.create(cluster, role));
    expect(transport.requests[0]).to.include({ method: 'POST', path: '/clusters/default_prod/access-entries' });
    const [first, second] = [transport.body(0), transport.body(1)];
    expect(first).to.include({ principalArn: role, type: 'FARGATE_LINUX' });
    expect(first['clientRequestToken']).not.to.equal(second['clientRequestToken']);
  });

  it('deletes an entry', async () => {
    const transport = FakeTransport.inOrder(jsonResponse({}));
    await expectResponse(entries(transport).delete(cluster, role));
    expect(transport.requests[0]).to.include({ method: 'DELETE', path });
  });
});

const name = EksClusterName.of('default_prod');
const rawCluster = { name, arn: 'arn:aws:eks:eu-west-1:111122223333:cluster/default_prod', status: 'ACTIVE' };

function clusters(transport: FakeTransport): EksClusters {
  const harness = new CallHarness(transport);
  return eksClusters(harness.clients.eks, harness.newCalls('eks'));
}

describe('EksClusters.describe', () => {
  it('returns the cluster with its authentication mode', async () => {
    const transport = FakeTransport.inOrder(
      jsonResponse({ cluster: { ...rawCluster, accessConfig: { authenticationMode: 'API' } } }),
    );
    expect(await expectResponse(clusters(transport).describe(name))).to.deep.equal({
      ...rawCluster,
      authenticationMode: 'API',
    });
    expect(transport.requests[0]).to.include({ method: 'GET', path: '/clusters/default_prod' });
  });

  it('accepts a cluster without an authentication mode', async () => {
    expect(
      await expectResponse(clusters(FakeTransport.inOrder(jsonResponse({ cluster: rawCluster }))).describe(name)),
    ).to.deep.equal(rawCluster);
  });

  it('returns undefined for a cluster that does not exist', async () => {
    const transport = FakeTransport.inOrder(
      eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404),
    );
    expect(await expectResponse(clusters(transport).describe(name))).to.deep.equal(undefined);
  });
});
