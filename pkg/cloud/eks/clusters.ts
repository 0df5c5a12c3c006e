import {
  CreateAccessEntryCommand,
  DeleteAccessEntryCommand,
  DescribeAccessEntryCommand,
  DescribeClusterCommand,
} from '@aws-sdk/client-eks';
import type { AccessEntry, EKSClient } from '@aws-sdk/client-eks';
import type { Random } from 'controller-runtime/env';
import type { CallFactory } from '../call/call.ts';
import { EmptyResponse, ignoreNotFound } from '../call/responses.ts';
import type { AccessEntries, EksClusters } from './eks-api.ts';
import { AccessEntryResponse, ClusterResponse, findOrMissing, FoundEntry } from './responses.ts';

export function accessEntries(client: EKSClient, call: CallFactory, random: Random): AccessEntries {
  return {
    describe: (clusterName, principalArn) =>
      findOrMissing(
        call({
          operation: 'DescribeAccessEntry',
          kind: 'read',
          send: async () =>
            withNumericTime(await client.send(new DescribeAccessEntryCommand({ clusterName, principalArn }))),
          response: FoundEntry,
        }),
      ),

    create: (clusterName, principalArn) =>
      call({
        operation: 'CreateAccessEntry',
        kind: 'mutation',
        send: async () =>
          withNumericTime(
            await client.send(
              new CreateAccessEntryCommand({
                clusterName,
                principalArn,
                type: 'FARGATE_LINUX',
                // New each time, because the ARN of the role already makes the call idempotent: for a token that was
                // used before, EKS could return an entry that has been deleted since.
                clientRequestToken: random.uuid(),
              }),
            ),
          ),
        response: AccessEntryResponse,
      }),

    delete: (clusterName, principalArn) =>
      call({
        operation: 'DeleteAccessEntry',
        kind: 'mutation',
        send: () => client.send(new DeleteAccessEntryCommand({ clusterName, principalArn })),
        response: EmptyResponse,
      }),
  };
}

/** Converts the SDK's Date to milliseconds since 1970. */
const withNumericTime = ({ accessEntry, ...rest }: { readonly accessEntry?: AccessEntry | undefined }): unknown => ({
  ...rest,
  accessEntry: { ...accessEntry, createdAt: accessEntry?.createdAt?.getTime() },
});

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
