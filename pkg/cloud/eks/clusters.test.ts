import { expect } from 'chai';
import * as O from 'fp-ts/lib/Option.js';
import { EksClusterName } from '../../../api/names.ts';
import { answerOf, failureOf, Workbench } from '../testing/calls.ts';
import { FakeTransport, eksError, json } from '../testing/fake-transport.ts';
import type { EksClusters } from '../types.ts';
import { eksClusters } from './clusters.ts';

const name = EksClusterName.of('default_prod');
const raw = { name, arn: 'arn:aws:eks:eu-west-1:111122223333:cluster/default_prod', status: 'ACTIVE' };

function clusters(transport: FakeTransport): EksClusters {
  const bench = new Workbench(transport);
  return eksClusters(bench.clients.eks, bench.calling('eks'));
}

describe('EKS clusters', () => {
  it('are described', async () => {
    const transport = FakeTransport.inOrder(json({ cluster: { ...raw, accessConfig: { authenticationMode: 'API' } } }));
    expect(await answerOf(clusters(transport).describe(name))).to.deep.equal(
      O.some({ ...raw, authenticationMode: 'API' }),
    );
    expect(transport.requests[0]).to.include({ method: 'GET', path: '/clusters/default_prod' });
  });

  it('need not say how they authenticate', async () => {
    expect(await answerOf(clusters(FakeTransport.inOrder(json({ cluster: raw }))).describe(name))).to.deep.equal(
      O.some(raw),
    );
  });

  it('may be gone, which is no failure', async () => {
    const transport = FakeTransport.inOrder(
      eksError('ResourceNotFoundException', 'No cluster found for name: default_prod.', 404),
    );
    expect(await answerOf(clusters(transport).describe(name))).to.deep.equal(O.none);
  });

  it('a refusal is one', async () => {
    const transport = FakeTransport.inOrder(eksError('AccessDeniedException', 'no', 403));
    expect(await failureOf(clusters(transport).describe(name))).to.include({ code: 'AccessDeniedException' });
  });
});
