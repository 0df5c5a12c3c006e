import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import type { EKSClient } from '@aws-sdk/client-eks';
import type { Option } from 'fp-ts/lib/Option.js';
import * as O from 'fp-ts/lib/Option.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Calling } from '../call.ts';
import { isNotFound } from '../errors.ts';
import type { EksCluster, EksClusters } from '../types.ts';
import { ClusterAnswer } from './answers.ts';

export function eksClusters(client: EKSClient, call: Calling): EksClusters {
  return {
    describe: (name) =>
      pipe(
        call({
          operation: 'DescribeCluster',
          kind: 'read',
          send: (options) => client.send(new DescribeClusterCommand({ name }), options),
          answer: ClusterAnswer,
        }),
        TE.map(O.some),
        TE.orElse((failure) =>
          isNotFound(failure) ? TE.right<typeof failure, Option<EksCluster>>(O.none) : TE.left(failure),
        ),
      ),
  };
}
