import type { Either } from 'fp-ts/lib/Either.js';
import { NamespacedMeta } from '../meta.ts';
import { object, optional, string } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';
import { decode } from '../schema/problem.ts';
import type { DecodeProblem } from '../schema/problem.ts';
import { AWSFargateProfileSpec } from './spec.ts';
import { AWSFargateProfileStatus } from './status.ts';

export const AWSFargateProfile = object({
  apiVersion: string(),
  kind: string(),
  metadata: NamespacedMeta,
  spec: AWSFargateProfileSpec,
  status: optional(AWSFargateProfileStatus),
});
export interface AWSFargateProfile extends TypeOf<typeof AWSFargateProfile> {}

export const decodeAWSFargateProfile = (input: unknown): Either<readonly DecodeProblem[], AWSFargateProfile> =>
  decode(AWSFargateProfile, input);
