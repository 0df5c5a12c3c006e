import {
  CreateFargateProfileCommand,
  DeleteFargateProfileCommand,
  DescribeFargateProfileCommand,
  ListFargateProfilesCommand,
  TagResourceCommand,
  UntagResourceCommand,
} from '@aws-sdk/client-eks';
import type { EKSClient } from '@aws-sdk/client-eks';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Random } from '../../env/random.ts';
import { done } from '../answers.ts';
import type { Calling } from '../call.ts';
import { isClusterNotFound, isNotFound } from '../errors.ts';
import { allPages } from '../paging.ts';
import type { FargateProfiles, ProfileListing, ProfileLookup } from '../types.ts';
import { ProfileAnswer, ProfilesAnswer } from './answers.ts';

/** What EKS gives at most in one page. */
const PAGE_SIZE = 100;

export function fargateProfiles(client: EKSClient, call: Calling, random: Random): FargateProfiles {
  return {
    describe: (clusterName, fargateProfileName) =>
      pipe(
        call({
          operation: 'DescribeFargateProfile',
          kind: 'read',
          send: (options) =>
            client.send(new DescribeFargateProfileCommand({ clusterName, fargateProfileName }), options),
          answer: ProfileAnswer,
        }),
        TE.map((profile): ProfileLookup => ({ kind: 'found', profile })),
        TE.orElse((failure) => {
          if (!isNotFound(failure)) {
            return TE.left(failure);
          }
          return TE.right<typeof failure, ProfileLookup>({
            kind: isClusterNotFound(failure) ? 'clusterGone' : 'absent',
          });
        }),
      ),

    list: (clusterName) =>
      pipe(
        allPages({ service: 'eks', operation: 'ListFargateProfiles' }, (nextToken) =>
          call({
            operation: 'ListFargateProfiles',
            kind: 'read',
            send: (options) =>
              client.send(new ListFargateProfilesCommand({ clusterName, maxResults: PAGE_SIZE, nextToken }), options),
            answer: ProfilesAnswer,
          }),
        ),
        TE.map((names): ProfileListing => ({ kind: 'listed', names })),
        TE.orElse((failure) =>
          // The only thing that a listing can miss is the cluster.
          isNotFound(failure) ? TE.right<typeof failure, ProfileListing>({ kind: 'clusterGone' }) : TE.left(failure),
        ),
      ),

    create: ({ cluster, name, podExecutionRoleArn, subnets, selectors, tags }) =>
      call({
        operation: 'CreateFargateProfile',
        kind: 'mutation',
        send: (options) =>
          client.send(
            new CreateFargateProfileCommand({
              clusterName: cluster,
              fargateProfileName: name,
              podExecutionRoleArn,
              subnets: [...subnets],
              selectors: selectors.map(({ namespace, labels }) => ({ namespace, labels: { ...labels } })),
              tags: { ...tags },
              // New for every attempt: the name is what makes a create repeatable, and a token that EKS remembers
              // would bring back the answer of a profile that is gone.
              clientRequestToken: random.uuid(),
            }),
            options,
          ),
        answer: ProfileAnswer,
      }),

    delete: (clusterName, fargateProfileName) =>
      call({
        operation: 'DeleteFargateProfile',
        kind: 'mutation',
        send: (options) => client.send(new DeleteFargateProfileCommand({ clusterName, fargateProfileName }), options),
        answer: done,
      }),

    tag: (resourceArn, tags) =>
      Object.keys(tags).length === 0
        ? TE.right(undefined)
        : call({
            operation: 'TagResource',
            kind: 'mutation',
            send: (options) => client.send(new TagResourceCommand({ resourceArn, tags: { ...tags } }), options),
            answer: done,
          }),

    untag: (resourceArn, keys) =>
      keys.length === 0
        ? TE.right(undefined)
        : call({
            operation: 'UntagResource',
            kind: 'mutation',
            send: (options) => client.send(new UntagResourceCommand({ resourceArn, tagKeys: [...keys] }), options),
            answer: done,
          }),
  };
}
