import { expect } from 'chai';
import * as E from 'fp-ts/lib/Either.js';
import { KubeError } from 'controller-runtime/client';
import type { ServerAccess } from 'controller-runtime/kubeconfig';
import { json, VirtualClock } from 'controller-runtime/testing';
import { EksClusterName, ProfileName } from '../../../api/names.ts';
import { NoCredentials } from '../../../pkg/cloud/index.ts';
import { describeProblem, newOpenPods } from './open-pods.ts';

const NAME = EksClusterName.of('prod');
const CREATING = { status: 'CREATING' };
const ACTIVE = {
  ...CREATING,
  status: 'ACTIVE',
  endpoint: 'https://x.eks.amazonaws.com',
  certificateAuthority: Buffer.from('PEM').toString('base64'),
};

describe('the pods of a workload cluster', () => {
  it('lists pods over one connection, which closes afterwards, and is opened only if EKS has the cluster', async () => {
    const did: string[] = [];
    const connect = ({ token }: ServerAccess) => ({
      host: 'x',
      send: async () => json(200, { metadata: {}, items: [] }),
      close: async () => void did.push(`closed with ${token}`),
    });
    const open = newOpenPods(connect, new VirtualClock(), ({ host }) => void did.push(`asked ${host}`));
    const DRAIN = { predecessor: ProfileName.of('web'), successor: { name: 'new', selectors: [] }, since: 0, until: 0 };
    const openedIn = (cluster: typeof CREATING | undefined) =>
      open(
        { clusters: { describe: async () => E.right(cluster) }, clusterToken: async (name) => `token for ${name}` },
        { eksCluster: NAME },
        DRAIN,
      );
    expect(await openedIn(CREATING)).to.have.property('_tag', 'Left');
    expect(await openedIn(undefined)).to.deep.equal(E.right(undefined));
    const opened = await openedIn(ACTIVE);
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
