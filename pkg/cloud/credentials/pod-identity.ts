import { isIPv6 } from 'node:net';

/**
 * The addresses of the agent on each node: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html.
 * A node of an IPv6 cluster serves its pods at the second one only.
 */
const AGENT_IPV4 = 'http://169.254.170.23/v1/credentials';
const AGENT_IPV6 = 'http://[fd00:ec2::23]/v1/credentials';

/**
 * The value for AWS_CONTAINER_CREDENTIALS_FULL_URI where the pod has a token of EKS Pod Identity, but no address of the
 * agent: config/components/pod-identity cannot know which kind of addresses the pods of the cluster have. `undefined`:
 * EKS or a user has set an address, or the pod does not use Pod Identity.
 */
export function podIdentityUri(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const has = (name: string): boolean => (environment[name] ?? '') !== '';
  const hasUri = has('AWS_CONTAINER_CREDENTIALS_FULL_URI') || has('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  if (hasUri || !has('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE') || !has('POD_IP')) return undefined;
  return isIPv6(environment['POD_IP'] ?? '') ? AGENT_IPV6 : AGENT_IPV4;
}
