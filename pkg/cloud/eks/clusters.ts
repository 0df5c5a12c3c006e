import {
  CreateAccessEntryCommand,
  DeleteAccessEntryCommand,
  DescribeAccessEntryCommand,
  DescribeClusterCommand,
} from '@aws-sdk/client-eks';
import type { EKSClient } from '@aws-sdk/client-eks';
import type { Random } from 'controller-runtime/env';
import type { CallFactory } from '../call/call.ts';
import { ignoreNotFound, mutate } from '../call/responses.ts';
import type { AccessEntries, EksClusters } from './eks-api.ts';
import { ClusterResponse, findOrMissing, FoundEntry } from './responses.ts';

export function accessEntries(client: EKSClient, call: CallFactory, random: Random): AccessEntries {
  return {
    describe: (clusterName, principalArn) =>
      findOrMissing(
        call({
          operation: 'DescribeAccessEntry',
          kind: 'read',
          send: () => client.send(new DescribeAccessEntryCommand({ clusterName, principalArn })),
          response: FoundEntry,
        }),
      ),

    create: (clusterName, principalArn) =>
      mutate(call, 'CreateAccessEntry', () =>
        client.send(
          new CreateAccessEntryCommand({
            clusterName,
            principalArn,
            type: 'FARGATE_LINUX',
            // A new token each time, because EKS could answer a used token with an entry that has been deleted since.
            // The role's ARN already makes the call idempotent.
            clientRequestToken: random.uuid(),
          }),
        ),
      ),

    delete: (clusterName, principalArn) =>
      mutate(call, 'DeleteAccessEntry', () => client.send(new DeleteAccessEntryCommand({ clusterName, principalArn }))),
  };
}

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
