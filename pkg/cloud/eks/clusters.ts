import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import type { EKSClient } from '@aws-sdk/client-eks';
import type { CallFactory } from '../call/call.ts';
import { ignoreNotFound } from '../call/not-found.ts';
import type { EksClusters } from './eks-api.ts';
import { ClusterResponse } from './responses.ts';

export function eksClusters(client: EKSClient, call: CallFactory): EksClusters {
  return {
    describe: (name) =>
      ignoreNotFound(
        call({
          operation: 'DescribeCluster',
          kind: 'read',
          send: () => client.send(new DescribeClusterCommand({ name })),
          response: ClusterResponse,
        }),
      ),
  };
}
