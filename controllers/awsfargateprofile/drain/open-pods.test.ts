import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { KubeError } from 'controller-runtime/client';
import type { ServerAccess } from 'controller-runtime/kubeconfig';
import { json, VirtualClock } from 'controller-runtime/testing';
import { EksClusterName, ProfileName } from '../../../api/names.ts';
import { NoCredentials } from '../../../pkg/cloud/index.ts';
import { aFailure } from '../testing/builders.ts';
import { describeProblem, findServer, newOpenPods } from './open-pods.ts';

const NAME = EksClusterName.of('prod');
const CLUSTER = { name: NAME, arn: '', status: 'ACTIVE' };
const AUTHORITY = Buffer.from('PEM').toString('base64');
const COMPLETE = { endpoint: 'https://x.eks.amazonaws.com', certificateAuthority: AUTHORITY };

const sessionWith = (cluster: object | undefined) => ({
  clusters: { describe: async () => E.right(cluster && { ...CLUSTER, ...cluster }) },
  clusterToken: async (name: string) => `token for ${name}`,
});
const find = (cluster: object | undefined) => findServer(sessionWith(cluster), NAME);

describe('a connection to a workload cluster', () => {
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

  it('lists pods over one connection, which closes afterwards, and is opened only if EKS has the cluster', async () => {
    const did: string[] = [];
    const connect = ({ token }: ServerAccess) => ({
      host: 'x',
      send: async () => json(200, { metadata: {}, items: [] }),
      close: async () => void did.push(`closed with ${token}`),
    });
    const open = newOpenPods(connect, new VirtualClock(), ({ host }) => void did.push(`asked ${host}`));
    const DRAIN = { predecessor: ProfileName.of('web'), successor: { name: 'new', selectors: [] }, since: 0, until: 0 };
    const openedIn = (cluster: object | undefined) => open(sessionWith(cluster), { eksCluster: NAME }, DRAIN);
    expect(await openedIn({})).to.have.property('_tag', 'Left');
    expect(await openedIn(undefined)).to.deep.equal(E.right(undefined));
    const opened = await openedIn(COMPLETE);
    const access = E.isRight(opened) ? opened.right : undefined;
    for await (const page of access?.list('a=b', new AbortController().signal) ?? []) expect(page).to.deep.equal([]);
    await access?.close();
    expect(did).to.deep.equal(['asked workload clusters', 'closed with token for prod']);
  });

  for (const [error, problem] of [
    [
      new KubeError('no', { status: 401, reason: 'Unauthorized', said: 'no' }),
      "does not accept the controller's AWS identity",
    ],
    [new KubeError('x: no', { status: 403, reason: 'Forbidden', said: 'no' }), 'of EKS cluster prod says: no'],
    [new KubeError('listing: no answer', { status: 0, reason: 'NoAnswer' }), 'does not respond: listing: no answer'],
    [new Error('unable to verify the certificate'), 'does not respond: unable to verify the certificate'],
    [new KubeError('odd', { status: 0, reason: 'Undecodable' }), 'returns an invalid response: odd'],
    [new NoCredentials({ reason: 'CredentialsMissing', message: 'none' }), 'there is no token for the API server'],
  ] as const)
    it(`says "${problem}" for ${error.name}`, () => expect(describeProblem(error, 'prod').problem).to.contain(problem));
});
