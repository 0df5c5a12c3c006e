import * as E from 'fp-ts/lib/Either.js';
import type { ServerAccess } from 'controller-runtime/kubeconfig';
import { parseHttpUrl } from 'controller-runtime/network';
import type { EksClusterName } from '../../api/names.ts';
import { type Session, describeFailure, isAccessDenied } from '../../pkg/cloud/index.ts';

/**
 * Why the workload cluster's API server cannot be called. `problem` is a clause, and `remedy` is a sentence without its
 * period.
 */
export interface ServerProblem {
  readonly problem: string;
  readonly remedy: string;
}

/** How many requests are sent to one workload cluster at the same time. Each needs a connection. */
export const MAX_REQUESTS = 10;

/** Returns `undefined` if EKS has no such cluster. */
export async function findServer(
  { clusters, clusterToken }: Pick<Session, 'clusters' | 'clusterToken'>,
  name: EksClusterName,
): Promise<E.Either<ServerProblem, ServerAccess | undefined>> {
  const found = await clusters.describe(name);
  if (E.isLeft(found)) {
    const remedy = isAccessDenied(found.left)
      ? 'Allow the controller to call eks:DescribeCluster'
      : 'AWS may answer later';
    return E.left({ problem: `AWS does not show EKS cluster ${name}: ${describeFailure(found.left)}`, remedy });
  }
  if (found.right === undefined) return E.right(undefined);
  const { endpoint = '', certificateAuthority = '' } = found.right;
  const url = parseHttpUrl(endpoint);
  const authority = Buffer.from(certificateAuthority, 'base64').toString();
  // Without a certificate authority, Node.js would trust the public ones.
  if (url?.protocol !== 'https:' || authority === '') {
    const problem = `EKS shows no endpoint with a certificate authority for EKS cluster ${name}`;
    return E.left({ problem, remedy: 'EKS shows both when the cluster is ACTIVE' });
  }
  return E.right({ url, certificateAuthority: authority, token: await clusterToken(name) });
}
