import {
  CreateFargateProfileCommand,
  DeleteFargateProfileCommand,
  DescribeFargateProfileCommand,
  ListFargateProfilesCommand,
  TagResourceCommand,
  UntagResourceCommand,
} from '@aws-sdk/client-eks';
import type { EKSClient } from '@aws-sdk/client-eks';
import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { Random } from '../../env/random.ts';
import { EmptyResponse, listAllPages } from '../call/responses.ts';
import type { CallFactory } from '../call/call.ts';
import { isClusterNotFound, isNotFound } from '../errors/errors.ts';
import type { FargateProfiles } from './eks-api.ts';
import { ProfileResponse, ProfilesResponse } from './responses.ts';

/** The largest `maxResults` that EKS allows in ListFargateProfiles. */
const PAGE_SIZE = 100;

export function fargateProfiles(client: EKSClient, call: CallFactory, random: Random): FargateProfiles {
  return {
    describe: (clusterName, fargateProfileName) => async () => {
      const response = await call({
        operation: 'DescribeFargateProfile',
        kind: 'read',
        send: () => client.send(new DescribeFargateProfileCommand({ clusterName, fargateProfileName })),
        response: ProfileResponse,
      })();
      if (E.isRight(response)) return E.right({ kind: 'found', profile: response.right });
      if (!isNotFound(response.left)) return response;
      return E.right({ kind: isClusterNotFound(response.left) ? 'clusterGone' : 'absent' });
    },

    list: (clusterName) => async () => {
      const response = await listAllPages({ service: 'eks', operation: 'ListFargateProfiles' }, (nextToken) =>
        call({
          operation: 'ListFargateProfiles',
          kind: 'read',
          send: () => client.send(new ListFargateProfilesCommand({ clusterName, maxResults: PAGE_SIZE, nextToken })),
          response: ProfilesResponse,
        }),
      )();
      if (E.isRight(response)) return E.right({ kind: 'listed', names: response.right });
      // The list refers to no object other than the cluster.
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
              // New each time, because the profile's name already makes the call idempotent: for a token that was used
              // before, EKS would return the earlier response, even if the profile has been deleted since.
              clientRequestToken: random.uuid(),
            }),
          ),
        response: ProfileResponse,
      }),

    delete: (clusterName, fargateProfileName) =>
      call({
        operation: 'DeleteFargateProfile',
        kind: 'mutation',
        send: () => client.send(new DeleteFargateProfileCommand({ clusterName, fargateProfileName })),
        response: EmptyResponse,
      }),

    tag: (resourceArn, tags) =>
      Object.keys(tags).length === 0
        ? TE.right(undefined)
        : call({
            operation: 'TagResource',
            kind: 'mutation',
            send: () => client.send(new TagResourceCommand({ resourceArn, tags: { ...tags } })),
            response: EmptyResponse,
          }),

    untag: (resourceArn, keys) =>
      keys.length === 0
        ? TE.right(undefined)
        : call({
            operation: 'UntagResource',
            kind: 'mutation',
            send: () => client.send(new UntagResourceCommand({ resourceArn, tagKeys: [...keys] })),
            response: EmptyResponse,
          }),
  };
}
