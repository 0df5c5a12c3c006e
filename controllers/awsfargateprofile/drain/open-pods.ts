import * as E from 'fp-ts/lib/Either.js';
import {
  type CountRequest,
  type Evictions,
  isForbidden,
  isNoAnswer,
  KubeError,
  newEvictions,
  observeRequests,
} from 'controller-runtime/client';
import type { Clock } from 'controller-runtime/env';
import type { ConnectToServer, ServerAccess } from 'controller-runtime/kubeconfig';
import { parseHttpUrl } from 'controller-runtime/network';
import { errorMessage } from 'controller-runtime/text';
import { NoCredentials, type Session, describeFailure, isAccessDenied } from '../../../pkg/cloud/index.ts';
import { VERSION } from '../../../pkg/version.ts';
import type { Drain } from '../plan/drain.ts';
import type { Target } from '../goal/target.ts';
import type { DrainProblem } from './next.ts';

/** The pods of a workload cluster, for one pass. */
export interface PodAccess extends Evictions {
  close(): Promise<void>;
}

/** Left: the way in is closed. Undefined: there is no such cluster any more, so it has no pods. */
export type OpenPods = (
  session: Pick<Session, 'clusters' | 'clusterToken'>,
  target: Pick<Target, 'eksCluster'>,
  drain: Drain,
) => Promise<E.Either<DrainProblem, PodAccess | undefined>>;

/**
 * The way into the workload cluster is EKS's own: endpoint and certificate authority of DescribeCluster, and a token of
 * the credentials with which the object's profile is managed. No object in Kubernetes can change the target.
 */
export const newOpenPods =
  (connect: ConnectToServer, clock: Clock, count: CountRequest): OpenPods =>
  async (session, { eksCluster }) => {
    const access = await findServer(session, eksCluster);
    if (E.isLeft(access)) return access;
    if (access.right === undefined) return E.right(undefined);
    const connections = connect(access.right);
    const transport = observeRequests(connections, {
      userAgent: `cluster-api-provider-aws-fargate/${VERSION}`,
      // The metric does not name the host, because the number of workload clusters has no bound.
      count: (labels) => count({ ...labels, host: 'workload clusters' }),
    });
    return E.right({ ...newEvictions(transport, clock), close: () => connections.close() });
  };

/** Endpoint, certificate authority and token of the API server of an EKS cluster; `undefined`: EKS has no such cluster. */
export async function findServer(
  { clusters, clusterToken }: Pick<Session, 'clusters' | 'clusterToken'>,
  name: Target['eksCluster'],
): Promise<E.Either<DrainProblem, ServerAccess | undefined>> {
  const found = await clusters.describe(name);
  if (E.isLeft(found)) {
    const remedy = isAccessDenied(found.left) ? 'Allow the controller eks:DescribeCluster' : 'AWS may answer later';
    return E.left({ problem: `AWS does not show EKS cluster ${name}: ${describeFailure(found.left)}`, remedy });
  }
  if (found.right === undefined) return E.right(undefined);
  const { endpoint = '', certificateAuthority = '' } = found.right;
  const url = parseHttpUrl(endpoint);
  const authority = Buffer.from(certificateAuthority, 'base64').toString();
  // Without an authority, Node.js would trust the public ones.
  if (url?.protocol !== 'https:' || authority === '') {
    const problem = `EKS shows no endpoint with a certificate authority for EKS cluster ${name}`;
    return E.left({ problem, remedy: 'EKS shows both when the cluster is ACTIVE' });
  }
  return E.right({ url, certificateAuthority: authority, token: await clusterToken(name) });
}

/** In parts of a sentence. The API server of a workload cluster may say anything, so its words are quoted. */
export function describeProblem(error: unknown, cluster: string): DrainProblem {
  const server = `the API server of EKS cluster ${cluster}`;
  if (error instanceof KubeError && error.status === 401)
    return {
      problem: `${server} does not accept the AWS identity of the controller`,
      remedy: 'Give this identity an access entry in the EKS cluster, or a mapping in aws-auth',
    };
  if (isForbidden(error))
    return {
      problem: `${server} says: ${error.said ?? error.message}`,
      remedy: 'Allow the controller to list pods and to create pods/eviction in all namespaces',
    };
  const detail = errorMessage(error);
  if (error instanceof NoCredentials)
    return { problem: `there is no token for ${server}: ${detail}`, remedy: 'Fix the credentials' };
  const isSilent = isNoAnswer(error) || !(error instanceof KubeError);
  return isSilent
    ? {
        problem: `${server} does not answer: ${detail}`,
        remedy: 'Check that the controller reaches the endpoint of the EKS cluster',
      }
    : { problem: `${server} gives a wrong answer: ${detail}`, remedy: 'Check what answers at its endpoint' };
}
