import { expect } from 'chai';
import { EksClusterName } from '../../../api/names.ts';
import { expectResponse, expectFailure, CallHarness } from '../testing/calls.ts';
import { FakeTransport, eksError, jsonResponse } from '../testing/fake-transport.ts';
import type { EksClusters } from './eks-api.ts';
import { eksClusters } from './clusters.ts';

const name = EksClusterName.of('default_prod');
const raw = { name, arn: 'arn:aws:eks:eu-west-1:111122223333:cluster/default_prod', status: 'ACTIVE' };

function clusters(transport: FakeTransport): EksClusters {
  const harness = new CallHarness(transport);
  return eksClusters(harness.clients.eks, harness.newCalls('eks'));
}

describe('EksClusters.describe', () => {
  it('returns the cluster with its authentication mode', async () => {
    const transport = FakeTransport.inOrder(
      jsonResponse({ cluster: { ...raw, accessConfig: { authenticationMode: 'API' } } }),
    );
    expect(await expectResponse(clusters(transport).describe(name))).to.deep.equal({
      ...raw,
      authenticationMode: 'API',
    });
    expect(transport.requests[0]).to.include({ method: 'GET', path: '/clusters/default_prod' });
  });

  it('accepts a cluster without an authentication mode', async () => {
    expect(
      await expectResponse(clusters(FakeTransport.inOrder(jsonResponse({ cluster: raw }))).describe(name)),
    ).to.deep.equal(raw);
  });

  it('returns undefined for a cluster that does not exist', async () => {
    const transport = FakeTransport.inOrder(
      eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404),
    );
    expect(await expectResponse(clusters(transport).describe(name))).to.deep.equal(undefined);
  });

  it('fails when EKS rejects the call', async () => {
    const transport = FakeTransport.inOrder(eksError('AccessDeniedException', 'no', 403));
    expect(await expectFailure(clusters(transport).describe(name))).to.include({ code: 'AccessDeniedException' });
  });
});
