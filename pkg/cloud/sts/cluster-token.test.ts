import { expect } from 'chai';
import { EksClusterName } from '../../../api/names.ts';
import { newClients } from '../call/sdk-clients.ts';
import { AWS_ENDPOINTS } from '../testing/endpoints.ts';
import { FakeTransport } from '../testing/fake-transport.ts';
import { clusterToken } from './cluster-token.ts';

/** 2030-01-02T03:04:05.678Z. */
const NOW = 1_893_553_445_678;
const PREFIX = 'k8s-aws-v1.';

async function urlOf(
  over: { readonly region?: string; readonly sessionToken?: string; readonly cluster?: string } = {},
) {
  const { region = 'eu-west-1', sessionToken, cluster = 'prod' } = over;
  const transport = new FakeTransport(() => {
    throw new Error('no call of AWS is needed');
  });
  const { sts } = newClients({
    region,
    transport,
    // The token must contain AWS's own STS endpoint, not a custom endpoint of the SDK, because EKS calls STS.
    endpoints: { ...AWS_ENDPOINTS, urlFor: () => 'https://proxy.example.org', fips: true },
    credentials: async () => ({
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: 'secret',
      ...(sessionToken !== undefined && { sessionToken }),
    }),
    version: 'v1.2.3',
  });
  const token = await clusterToken(sts, { region, cluster: EksClusterName.of(cluster), now: NOW });
  expect(token).to.match(/^k8s-aws-v1\.[\w-]+$/);
  return new URL(Buffer.from(token.slice(PREFIX.length), 'base64url').toString());
}

describe('the token for the API server of an EKS cluster', () => {
  it('is a presigned GetCallerIdentity URL that signs the cluster header', async () => {
    const url = await urlOf();
    expect(url.origin + url.pathname).to.equal('https://sts.eu-west-1.amazonaws.com/');
    const { 'X-Amz-Signature': signature, ...parameters } = Object.fromEntries(url.searchParams);
    expect(signature).to.match(/^[0-9a-f]{64}$/);
    expect(parameters).to.deep.equal({
      Action: 'GetCallerIdentity',
      Version: '2011-06-15',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIDEXAMPLE/20300102/eu-west-1/sts/aws4_request',
      'X-Amz-Date': '20300102T030405Z',
      'X-Amz-Expires': '60',
      'X-Amz-SignedHeaders': 'host;x-k8s-aws-id',
    });
  });

  it('has a different signature for another cluster', async () => {
    const [one, other] = await Promise.all([urlOf(), urlOf({ cluster: 'other' })]);
    expect(one.searchParams.get('X-Amz-Signature')).not.to.equal(other.searchParams.get('X-Amz-Signature'));
  });

  it('includes the session token of temporary credentials', async () => {
    const url = await urlOf({ sessionToken: 'a/b+c=' });
    expect(url.searchParams.get('X-Amz-Security-Token')).to.equal('a/b+c=');
  });

  const HOST_NAMES = {
    'us-east-1': 'sts.us-east-1.amazonaws.com',
    'us-gov-west-1': 'sts.us-gov-west-1.amazonaws.com',
    'cn-north-1': 'sts.cn-north-1.amazonaws.com.cn',
    'eusc-de-east-1': 'sts.eusc-de-east-1.amazonaws.eu',
    'us-iso-east-1': 'sts.us-iso-east-1.c2s.ic.gov',
    'us-isob-east-1': 'sts.us-isob-east-1.sc2s.sgov.gov',
    'eu-isoe-west-1': 'sts.eu-isoe-west-1.cloud.adc-e.uk',
    'us-isof-south-1': 'sts.us-isof-south-1.csp.hci.ic.gov',
  };
  for (const [region, expected] of Object.entries(HOST_NAMES))
    it(`uses the partition's own STS endpoint in ${region}`, async () => {
      const { hostname } = await urlOf({ region });
      expect(hostname).to.equal(expected);
    });
});
