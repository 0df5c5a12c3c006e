import {
  CreateFargateProfileCommand,
  DeleteFargateProfileCommand,
  DescribeFargateProfileCommand,
  ListFargateProfilesCommand,
  TagResourceCommand,
  UntagResourceCommand,
  type EKSClient,
} from '@aws-sdk/client-eks';
import * as E from 'fp-ts/lib/Either.js';
import type { Random } from 'controller-runtime/env';
import { listAllPages, mutate } from '../call/responses.ts';
import type { CallFactory } from '../call/call.ts';
import { isNotFound } from '../errors/error-codes.ts';
import type { FargateProfiles } from './eks-api.ts';
import { findOrMissing, FoundProfile, ProfileResponse, ProfilesResponse } from './responses.ts';

/** The largest `maxResults` that EKS allows in ListFargateProfiles. */
const PAGE_SIZE = 100;

export function fargateProfiles(client: EKSClient, call: CallFactory, random: Random): FargateProfiles {
  return {
    describe: (clusterName, fargateProfileName) =>
      findOrMissing(
        call({
          operation: 'DescribeFargateProfile',
          kind: 'read',
          send: () => client.send(new DescribeFargateProfileCommand({ clusterName, fargateProfileName })),
          response: FoundProfile,
        }),
      ),

    list: async (clusterName) => {
      const response = await listAllPages({ service: 'eks', operation: 'ListFargateProfiles' }, (nextToken) =>
        call({
          operation: 'ListFargateProfiles',
          kind: 'read',
          send: () => client.send(new ListFargateProfilesCommand({ clusterName, maxResults: PAGE_SIZE, nextToken })),
          response: ProfilesResponse,
        }),
      );
      if (E.isRight(response)) return E.right({ kind: 'listed', names: response.right });
      // A list request refers only to the cluster, so NotFound means that the cluster is missing.
      return isNotFound(response.left) ? E.right({ kind: 'clusterGone' }) : response;
    },

    create: ({ cluster, name, podExecutionRoleArn, subnets, selectors, tags }) =>
      call({
        operation: 'CreateFargateProfile',
        kind: 'mutation',
        send: () =>
          client.send(
            new CreateFargateProfileCommand({
              clusterName: cluster,
              fargateProfileName: name,
              podExecutionRoleArn,
              ...(subnets.length > 0 && { subnets: [...subnets] }),
              selectors: selectors.map(({ namespace, labels }) => ({ namespace, labels: { ...labels } })),
              tags: { ...tags },
              // A new token each time, because EKS would answer a used token with the earlier response, even if the
              // profile has been deleted since. The profile's name already makes the call idempotent.
              clientRequestToken: random.uuid(),
            }),
          ),
        response: ProfileResponse,
      }),

    delete: (clusterName, fargateProfileName) =>
      mutate(call, 'DeleteFargateProfile', () =>
        client.send(new DeleteFargateProfileCommand({ clusterName, fargateProfileName })),
      ),

    tag: (resourceArn, tags) =>
      mutate(call, 'TagResource', () => client.send(new TagResourceCommand({ resourceArn, tags: { ...tags } }))),

    untag: (resourceArn, keys) =>
      mutate(call, 'UntagResource', () => client.send(new UntagResourceCommand({ resourceArn, tagKeys: [...keys] }))),
  };
}
