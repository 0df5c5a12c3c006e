import { isIPv6 } from 'node:net';

/**
 * The addresses of the agent on each node: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html.
 * On a node of an IPv6 cluster, only the second address works.
 */
const AGENT_IPV4 = 'http://169.254.170.23/v1/credentials';
const AGENT_IPV6 = 'http://[fd00:ec2::23]/v1/credentials';

/**
 * Returns a value for AWS_CONTAINER_CREDENTIALS_FULL_URI if the pod has an EKS Pod Identity token, but no address of
 * the agent, because config/components/pod-identity cannot know whether the cluster's pods use IPv4 or IPv6. Returns
 * `undefined` if EKS or a user has set an address, or if the pod does not use Pod Identity.
 */
export function podIdentityUri(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const has = (name: string): boolean => (environment[name] ?? '') !== '';
  const hasUri = has('AWS_CONTAINER_CREDENTIALS_FULL_URI') || has('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  if (hasUri || !has('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE') || !has('POD_IP')) return undefined;
  return isIPv6(environment['POD_IP'] ?? '') ? AGENT_IPV6 : AGENT_IPV4;
}
