import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { KubeError } from 'controller-runtime/client';
import { EksClusterName } from '../../../api/names.ts';
import { NoCredentials } from '../../../pkg/cloud/index.ts';
import { describeProblem, findServer } from './open-pods.ts';

const NAME = EksClusterName.of('prod');
const CLUSTER = { name: NAME, arn: '', status: 'ACTIVE' };
const AUTHORITY = Buffer.from('PEM').toString('base64');

const find = (cluster: object | undefined) =>
  findServer(
    {
      clusters: { describe: async () => E.right(cluster && { ...CLUSTER, ...cluster }) },
      clusterToken: async (name) => `token for ${name}`,
    },
    NAME,
  );

describe('a connection to a workload cluster', () => {
  it('uses the endpoint and certificate authority from EKS, with a token for the cluster', async () => {
    const found = await find({ endpoint: 'https://x.eks.amazonaws.com', certificateAuthority: AUTHORITY });
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

  for (const [error, problem] of [
    [
      new KubeError('no', { status: 401, reason: 'Unauthorized', said: 'no' }),
      "does not accept the controller's AWS identity",
    ],
    [new KubeError('x: no', { status: 403, reason: 'Forbidden', said: 'no' }), 'of EKS cluster prod says: no'],
    [new KubeError('listing: no answer', { status: 0, reason: 'NoAnswer' }), 'does not respond: listing: no answer'],
    [new KubeError('odd', { status: 0, reason: 'Undecodable' }), 'returns an invalid response: odd'],
    [new NoCredentials({ reason: 'CredentialsMissing', message: 'none' }), 'there is no token for the API server'],
  ] as const)
    it(`says "${problem}" for ${error.name}`, () => expect(describeProblem(error, 'prod').problem).to.contain(problem));
});
