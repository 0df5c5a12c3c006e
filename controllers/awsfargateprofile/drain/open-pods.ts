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
import type { ConnectToServer } from 'controller-runtime/kubeconfig';
import { errorMessage } from 'controller-runtime/text';
import { NoCredentials, type Session } from '../../../pkg/cloud/index.ts';
import { VERSION } from '../../../pkg/version.ts';
import { type ServerProblem, findServer } from '../../shared/workload-server.ts';
import type { Drain } from './drain.ts';
import type { Target } from '../goal/target.ts';

/** Access to a workload cluster's pods during one reconcile. */
export interface PodAccess extends Evictions {
  close(): Promise<void>;
}

/** Returns `undefined` if the EKS cluster no longer exists, and so has no pods. */
export type OpenPods = (
  session: Pick<Session, 'clusters' | 'clusterToken'>,
  target: Pick<Target, 'eksCluster'>,
  drain: Drain,
) => Promise<E.Either<ServerProblem, PodAccess | undefined>>;

/**
 * The endpoint and certificate authority come from EKS's DescribeCluster, and the token from the credentials that
 * manage the object's profile. So no client can redirect the requests by writing a Kubernetes object.
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
      // The metric does not contain the host, because the number of workload clusters is unbounded.
      count: (labels) => count({ ...labels, host: 'workload clusters' }),
    });
    return E.right({ ...newEvictions(transport, clock), close: () => connections.close() });
  };

/** A workload cluster's API server may answer anything, so its words are quoted. */
export function describeProblem(error: unknown, cluster: string): ServerProblem {
  const server = `the API server of EKS cluster ${cluster}`;
  if (error instanceof KubeError && error.status === 401)
    return {
      problem: `${server} does not accept the controller's AWS identity`,
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
        problem: `${server} does not respond: ${detail}`,
        remedy: 'Check that the controller reaches the endpoint of the EKS cluster',
      }
    : { problem: `${server} returns an invalid response: ${detail}`, remedy: 'Check what answers at its endpoint' };
}
