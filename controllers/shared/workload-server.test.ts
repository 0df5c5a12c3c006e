import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { EksClusterName } from '../../api/names.ts';
import { aFailure } from '../awsfargateprofile/testing/builders.ts';
import { findServer } from './workload-server.ts';

const NAME = EksClusterName.of('prod');
const AUTHORITY = Buffer.from('PEM').toString('base64');
const COMPLETE = { endpoint: 'https://x.eks.amazonaws.com', certificateAuthority: AUTHORITY };

const sessionWith = (cluster: object | undefined) => ({
  clusters: { describe: async () => E.right(cluster && { status: 'ACTIVE', ...cluster }) },
  clusterToken: async (name: string) => `token for ${name}`,
});
const find = (cluster: object | undefined) => findServer(sessionWith(cluster), NAME);

describe('findServer', () => {
  it('uses the endpoint and certificate authority from EKS, with a token for the cluster', async () => {
    const found = await find(COMPLETE);
    expect(found).to.deep.equal(
      E.right({ url: new URL('https://x.eks.amazonaws.com'), certificateAuthority: 'PEM', token: 'token for prod' }),
    );
  });

  it('is not needed if EKS has no such cluster', async () =>
    expect(await find(undefined)).to.deep.equal(E.right(undefined)));

  for (const [situation, cluster] of [
    ['without an endpoint', { certificateAuthority: AUTHORITY }],
    ['without TLS', { endpoint: 'http://x.eks.amazonaws.com', certificateAuthority: AUTHORITY }],
    // Without a certificate authority, Node.js would trust the public ones.
    ['without a certificate authority', { endpoint: 'https://x.eks.amazonaws.com' }],
  ] as const)
    it(`is refused ${situation}`, async () => expect(await find(cluster)).to.have.property('_tag', 'Left'));

  for (const [code, remedy] of [
    ['AccessDeniedException', 'Allow the controller to call eks:DescribeCluster'],
    ['ThrottlingException', 'AWS may answer later'],
  ] as const)
    it(`is refused after ${code} of EKS, with the remedy "${remedy}"`, async () => {
      const describeCluster = async () => E.left(aFailure({ code, statusCode: 400 }));
      const found = await findServer({ ...sessionWith({}), clusters: { describe: describeCluster } }, NAME);
      expect(found).to.have.nested.property('left.remedy', remedy);
    });
});
