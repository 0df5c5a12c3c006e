import type { Either } from 'fp-ts/lib/Either.js';
import {
  decode,
  type DecodeProblem,
  NamespacedMeta,
  object,
  optional,
  string,
  type TypeOf,
} from 'controller-runtime/schema';
import { ROOT_RULES } from './validation-rules.ts';
import { AWSFargateProfileSpec } from './spec.ts';
import { AWSFargateProfileStatus } from './status.ts';

export const AWSFargateProfile = object(
  {
    apiVersion: string({ description: 'The group and version of this API: infrastructure.cluster.x-k8s.io/v1beta2.' }),
    kind: string({ description: 'The kind of the object: AWSFargateProfile.' }),
    metadata: NamespacedMeta,
    spec: AWSFargateProfileSpec,
    status: optional(AWSFargateProfileStatus),
  },
  {
    description:
      'An EKS Fargate profile of a Cluster, and the IAM role with which EKS starts its pods. A pod that matches one of the ' +
      'selectors when it is created runs on Fargate.',
    rules: ROOT_RULES,
  },
);
export interface AWSFargateProfile extends TypeOf<typeof AWSFargateProfile> {}

export const decodeAWSFargateProfile = (input: unknown): Either<readonly DecodeProblem[], AWSFargateProfile> =>
  decode(AWSFargateProfile, input);
