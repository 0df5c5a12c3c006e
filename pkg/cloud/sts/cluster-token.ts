import type { STSClient } from '@aws-sdk/client-sts';
import { SignatureV4 } from '@smithy/signature-v4';
import { formatTimestamp, type Ms } from 'controller-runtime/env';
import type { EksClusterName } from '../../../api/names.ts';
import { toOriginAndPath } from '../transport/undici-transport.ts';

/** This header binds the token to one EKS cluster. EKS refuses another cluster's token. */
const CLUSTER_HEADER = 'x-k8s-aws-id';
/** The value that aws-iam-authenticator uses. EKS accepts the token for 15 minutes after its date. */
const EXPIRES_IN_SECONDS = 60;
/** EKS sends the request itself, so how this process reaches AWS does not matter. */
const PLAIN_ENDPOINT = { UseFIPS: false, UseDualStack: false, UseGlobalEndpoint: false };

/**
 * Returns a token that authenticates the credentials of `client` to the API server of an EKS cluster. The token is the
 * URL of a presigned GetCallerIdentity, which EKS sends to STS, so creating the token takes no AWS call. The URL
 * contains AWS's own STS endpoint, even if the SDK uses a custom endpoint.
 * https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster
 *
 * @throws NoCredentials
 */
export async function clusterToken(
  client: STSClient,
  { region, cluster, now }: { readonly region: string; readonly cluster: EksClusterName; readonly now: Ms },
): Promise<string> {
  const { credentials, sha256, endpointProvider } = client.config;
  const { hostname } = endpointProvider({ Region: region, ...PLAIN_ENDPOINT }).url;
  const signer = new SignatureV4({ service: 'sts', region, credentials, sha256 });
  const request = {
    method: 'GET',
    protocol: 'https:',
    hostname,
    path: '/',
    query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
    headers: { host: hostname, [CLUSTER_HEADER]: cluster },
  };
  const signed = await signer.presign(request, { expiresIn: EXPIRES_IN_SECONDS, signingDate: formatTimestamp(now) });
  const { origin, path } = toOriginAndPath(signed);
  return `k8s-aws-v1.${Buffer.from(origin + path).toString('base64url')}`;
}
