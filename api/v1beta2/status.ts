import { AccountId, EksClusterName, ProfileName, RoleArn, RoleName } from '../names.ts';
import { boolean, integer, list, object, optional, optionalText, string, text } from '../schema/field.ts';
import type { TypeOf } from '../schema/field.ts';
import { Condition } from './condition.ts';

export const Initialization = object(
  {
    provisioned: optional(
      boolean({
        description:
          'True from the first time that the profile was ACTIVE in EKS exactly as the spec wants it. Until then every ' +
          'field but clusterName can still be corrected; afterwards the fields that EKS cannot change are immutable.',
      }),
    ),
  },
  { description: 'How far the first provisioning has come. Set once, and kept when the profile later fails.' },
);
export interface Initialization extends TypeOf<typeof Initialization> {}

export const StatusIdentityRef = object(
  {
    kind: optional(string({ description: 'The kind of the identity object.' })),
    name: optional(string({ description: 'The name of the identity object.' })),
  },
  { description: 'The AWS identity whose credentials are used. Absent: the credentials of the controller itself.' },
);
export interface StatusIdentityRef extends TypeOf<typeof StatusIdentityRef> {}

export const StatusRole = object(
  {
    name: optionalText(text(RoleName, { description: 'The name of the role, without its path.' })),
    id: optional(
      string({
        description:
          'The unique id that IAM gave the role. A role made anew under the same name has another id, and EKS access ' +
          'entries do not follow it.',
      }),
    ),
    managed: optional(
      boolean({
        description:
          'True if this controller made the role, keeps it in order and deletes it. False if the role is somebody ' +
          "else's and only used.",
      }),
    ),
    attachedPolicies: optional(
      list(string(), {
        description:
          'The ARNs of the managed policies that this controller attached to the role. Only these are ever detached ' +
          'while the object lives.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  },
  { description: 'The pod execution role.' },
);
export interface StatusRole extends TypeOf<typeof StatusRole> {}

export const HealthIssue = object(
  {
    code: optional(
      string({
        description:
          'What kind of issue, in the words of EKS: PodExecutionRoleAlreadyInUse, AccessDenied, ClusterUnreachable or ' +
          'InternalFailure.',
      }),
    ),
    message: optional(string({ description: 'What EKS says about it.' })),
    resourceIds: optional(
      list(string(), {
        description: 'The AWS resources that the issue is about.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  },
  { description: 'One issue that EKS has with the profile.' },
);
export interface HealthIssue extends TypeOf<typeof HealthIssue> {}

export const Health = object(
  {
    issues: optional(
      list(HealthIssue, {
        description: 'The issues that EKS reports, as they are now.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  },
  { description: 'The health of the profile as EKS reports it.' },
);
export interface Health extends TypeOf<typeof Health> {}

export const AWSFargateProfileStatus = object(
  {
    observedGeneration: optional(
      integer({
        description:
          'The metadata.generation that this status speaks of; -1 as long as no controller has seen the object.',
        format: 'int64',
        default: -1,
      }),
    ),
    ready: optional(
      boolean({ description: 'True while the condition Ready is True: the profile is ACTIVE as the spec wants it.' }),
    ),
    initialization: optional(Initialization),
    profileName: optionalText(
      text(ProfileName, { description: 'The name of the profile in EKS: spec.profileName, or the computed one.' }),
    ),
    profileARN: optional(string({ description: 'The ARN of the profile in EKS.' })),
    profileStatus: optional(
      string({
        description:
          'The state of the profile, in the words of EKS: CREATING, ACTIVE, DELETING, CREATE_FAILED or DELETE_FAILED.',
      }),
    ),
    eksClusterName: optionalText(
      text(EksClusterName, {
        description: 'The name of the EKS cluster, which is not the name of the Cluster object.',
      }),
    ),
    region: optional(string({ description: 'The AWS region of the EKS cluster.' })),
    account: optionalText(text(AccountId, { description: 'The id of the AWS account that profile and role are in.' })),
    identityRef: optional(StatusIdentityRef),
    podExecutionRoleARN: optionalText(
      text(RoleArn, { description: 'The ARN of the role under which EKS starts the pods of the profile.' }),
    ),
    role: optional(StatusRole),
    subnets: optional(
      list(string(), {
        description: 'The ids of the subnets in use: those of the spec, or the private subnets of the control plane.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    tagKeys: optional(
      list(string(), {
        description: 'The keys of the tags that this controller set on profile and role. Only these are ever removed.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    createRequestedAt: optional(
      string({
        description:
          'When the creation of the profile was last asked of EKS. For a minute from then on, not being found does not ' +
          'prove that there is no profile.',
        format: 'date-time',
      }),
    ),
    health: optional(Health),
    conditions: optional(
      list(Condition, {
        description:
          'What is known of the state: Ready (the summary), IAMFargateRolesReady, EKSFargateProfileReady, ' +
          'CredentialsReady, Reconciling, Stalled (a human must act), Deleting, Paused.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ),
    failureReason: optional(
      string({ description: 'Not set any more; see the conditions. Kept for objects of Cluster API Provider AWS.' }),
    ),
    failureMessage: optional(
      string({ description: 'Not set any more; see the conditions. Kept for objects of Cluster API Provider AWS.' }),
    ),
  },
  { description: 'What the controller found and did. It is rebuilt from AWS when it is lost.', default: {} },
);
export interface AWSFargateProfileStatus extends TypeOf<typeof AWSFargateProfileStatus> {}
