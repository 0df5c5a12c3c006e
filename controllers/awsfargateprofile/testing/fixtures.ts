import { RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import type { FoundRole } from '../model/observed-state.ts';
import { tagsToCreate } from '../../../pkg/fargate/tags/tag-drift.ts';
import type { Tags } from '../../../pkg/fargate/tags/tag-keys.ts';
import { CAPA_TAG, OWNER_TAG, EKS_CLUSTER, PROFILE, CREATED_AT, TRUST, aRole } from './builders.ts';

/** The status of an AWSFargateProfile for which the controller has sent CreateFargateProfile. */
const CREATE_REQUESTED: AWSFargateProfileStatus = { profileName: PROFILE, createRequestedAt: CREATED_AT };
/** The status of an AWSFargateProfile whose Fargate profile has once been ACTIVE and matched the spec. */
export const PROVISIONED: AWSFargateProfileStatus = { ...CREATE_REQUESTED, initialization: { provisioned: true } };

/** The tags of a Fargate profile that belongs to another AWSFargateProfile. */
export const FOREIGN_TAGS: Readonly<Record<string, string>> = { [OWNER_TAG]: 'team-b/web' };
/** The tags of a Fargate profile or role that Cluster API Provider AWS has created. */
export const CAPA_TAGS: Readonly<Record<string, string>> = { [CAPA_TAG]: 'owned' };

/** Returns the tag of a profile or role that records these additions of the controller, such as `tag team`. */
export const recordTag = (...additions: readonly string[]): Tags => tagsToCreate({ tags: {}, additions });

const statement = {
  Effect: 'Allow',
  Principal: { Service: 'eks-fargate-pods.amazonaws.com' },
  Action: 'sts:AssumeRole',
};
const sourceArn = `arn:aws:eks:eu-west-1:111122223333:fargateprofile/${EKS_CLUSTER}/*`;
const policy = (only: object): string => JSON.stringify({ Version: '2012-10-17', Statement: [only] });

export const TRUST_POLICIES = {
  ours: TRUST,
  /** The trust policy that the controller sets, with its fields in a different order and with lists of one element. */
  oursReordered: policy({
    Action: ['sts:AssumeRole'],
    Principal: { Service: ['eks-fargate-pods.amazonaws.com'] },
    Effect: 'Allow',
    Condition: { ArnLike: { 'aws:SourceArn': [sourceArn] } },
  }),
  /** A trust policy that EKS accepts, but that allows more than the controller's. */
  wide: policy(statement),
  forNodes: policy({ ...statement, Principal: { Service: 'ec2.amazonaws.com' } }),
  garbage: 'not a policy',
} as const;

/** The name of an IAM role that the controller does not own. The specs of several AWSFargateProfiles can contain it. */
export const SHARED_ROLE_NAME = RoleName.of('shared');
export const SHARED_ROLE_ARN = RoleArn.of('arn:aws:iam::111122223333:role/shared');
export const SHARED_ROLE: FoundRole = aRole({ name: SHARED_ROLE_NAME, tags: {}, trust: TRUST_POLICIES.wide });
