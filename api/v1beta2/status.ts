import {
  boolean,
  integer,
  list,
  object,
  oneOf,
  optional,
  optionalText,
  string,
  text,
  type TypeOf,
} from 'controller-runtime/schema';
import { MAX_MESSAGE } from 'controller-runtime/text';
import { AccountId, EksClusterName, ProfileName, RoleArn, RoleName } from '../names.ts';
import { WIDE } from './spec.ts';

const ConditionStatus = oneOf(['True', 'False', 'Unknown'], {
  description: 'Whether the condition applies: True, False, or Unknown.',
});

export const Condition = object(
  {
    type: string({ description: 'The type of the condition, in CamelCase.', minLength: 1, maxLength: 316 }),
    status: ConditionStatus,
    observedGeneration: optional(
      integer({
        description: 'The metadata.generation for which the condition was written.',
        format: 'int64',
        minimum: 0,
      }),
    ),
    lastTransitionTime: string({
      description: 'The time at which the status last changed.',
      format: 'date-time',
    }),
    reason: optional(
      string({
        description: 'The reason for the status: one word in CamelCase that programs can rely on.',
        maxLength: 1024,
      }),
    ),
    message: optional(string({ description: 'What is wrong, and what you can do.', maxLength: MAX_MESSAGE })),
    severity: optional(
      string({
        description:
          'The severity if the status is False. This controller does not set it, but conditions of Cluster API Provider AWS can have it.',
        maxLength: 32,
      }),
    ),
  },
  {
    description: "One aspect of the object's state.",
    required: ['lastTransitionTime', 'status', 'type'],
  },
);
export interface Condition extends TypeOf<typeof Condition> {}

const Initialization = object(
  {
    provisioned: optional(
      boolean({
        description:
          'True once the profile has been ACTIVE in EKS with all fields as in the spec. Until then, you can correct every field ' +
          'except clusterName and the name and region in eksCluster; afterward, the fields that EKS cannot change are immutable.',
      }),
    ),
  },
  { description: 'Progress of the first provisioning. Once set, it remains, even if the profile fails later.' },
);

const StatusIdentityRef = object(
  {
    kind: optional(string({ description: 'The kind of the identity object.' })),
    name: optional(string({ description: 'The name of the identity object.' })),
  },
  { description: "The AWS identity in use. Absent: the controller's own credentials are in use." },
);

export const StatusRole = object(
  {
    name: optionalText(text(RoleName, { description: 'The name of the role, without its path.' })),
    id: optional(
      string({
        description:
          'The unique ID of the role in IAM. A recreated role has a different ID, and an EKS access ' +
          'entry for the former role does not apply to it.',
      }),
    ),
    managed: optional(
      boolean({
        description:
          'True if the controller owns the role: the controller created or adopted the role, corrects it, and deletes it with the object. ' +
          'False if the controller only uses the role.',
      }),
    ),
    attachedPolicies: optional(
      list(string(), {
        description:
          "The ARNs of the managed policies that this controller attached to the role. One of the role's tags records them, and " +
          'the controller detaches only these policies.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    permissionsBoundary: optional(
      string({
        description:
          "The ARN of the permissions boundary that this controller set on the role. One of the role's tags records it, and " +
          'the controller removes only this boundary.',
      }),
    ),
  },
  { description: 'The pod execution role.' },
);
export interface StatusRole extends TypeOf<typeof StatusRole> {}

const Predecessor = object(
  {
    name: optionalText(text(ProfileName, { description: 'The name of the profile in EKS.' })),
    status: optional(string({ description: 'The status of the profile in EKS.' })),
  },
  { description: 'A profile of this object that another profile replaces.' },
);

const HealthIssue = object(
  {
    code: optional(
      string({
        description:
          'The code of the issue in EKS: PodExecutionRoleAlreadyInUse, AccessDenied, ClusterUnreachable, or InternalFailure.',
      }),
    ),
    message: optional(string({ description: 'The message of the issue, from EKS.' })),
    resourceIds: optional(
      list(string(), {
        description: 'The AWS resources that the issue concerns.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
  },
  { description: 'One health issue of the profile.' },
);

export const Health = object(
  {
    issues: optional(
      list(HealthIssue, {
        description: 'The current health issues of the profile.',
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
          'The metadata.generation for which this status was written. -1 until the controller has seen the object.',
        format: 'int64',
        default: -1,
      }),
    ),
    ready: optional(
      boolean({ description: 'True while the Ready condition is True: the profile is ACTIVE and matches the spec.' }),
    ),
    initialization: optional(Initialization),
    profileName: optionalText(
      text(ProfileName, {
        description:
          "The name of the profile in EKS. During a replacement, this is the old profile's name until the new profile is ACTIVE.",
      }),
    ),
    predecessors: optional(
      list(Predecessor, {
        description: 'The profiles of this object in EKS that no longer match the spec.',
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    activeSince: optional(
      string({
        description: 'When the controller first saw the desired profile ACTIVE.',
        format: 'date-time',
      }),
    ),
    profileARN: optional(string({ description: 'The ARN of the profile in EKS.' })),
    profileStatus: optional(
      string({
        description: 'The status of the profile in EKS: CREATING, ACTIVE, DELETING, CREATE_FAILED, or DELETE_FAILED.',
      }),
    ),
    eksClusterName: optionalText(
      text(EksClusterName, {
        description: 'The name of the EKS cluster, which can differ from the name of the Cluster.',
      }),
    ),
    region: optional(string({ description: 'The AWS region of the EKS cluster.' })),
    account: optionalText(
      text(AccountId, { description: 'The ID of the AWS account that contains the profile and the role.' }),
    ),
    identityRef: optional(StatusIdentityRef),
    podExecutionRoleARN: optionalText(
      text(RoleArn, { description: 'The ARN of the pod execution role, with which EKS starts the pods.' }),
    ),
    role: optional(StatusRole),
    subnets: optional(
      list(string({ maxLength: WIDE.text }), {
        description: "The IDs of the profile's subnets in EKS.",
        maxItems: WIDE.subnets,
        'x-kubernetes-list-type': 'atomic',
      }),
    ),
    deletionPolicy: optional(
      string({
        description:
          'The deletion policy in effect: Retain if spec.deletionPolicy is Retain, or if that field is absent and the object has ' +
          'the annotation aws-fargate.cluster.x-k8s.io/retain; otherwise Delete.',
      }),
    ),
    createRequestedAt: optional(
      string({
        description:
          'When the controller asked EKS to create the profile. Absent once EKS returns the profile. For up to a minute after the ' +
          'request, EKS can still report that the profile does not exist.',
        format: 'date-time',
      }),
    ),
    health: optional(Health),
    conditions: optional(
      list(Condition, {
        description:
          'The state of the object: Ready (the summary), IAMFargateRolesReady, EKSFargateProfileReady, CredentialsReady, ' +
          "Available (at least one of the object's profiles is ACTIVE), Reconciling, Stalled (you must act), SelectorsOverlap (advice), Deleting, and Paused.",
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ),
    failureReason: optional(
      string({
        description: 'Not set by this controller. Objects of Cluster API Provider AWS can have it; see the conditions.',
      }),
    ),
    failureMessage: optional(
      string({
        description: 'Not set by this controller. Objects of Cluster API Provider AWS can have it; see the conditions.',
      }),
    ),
  },
  {
    description: 'The observed state of profile and role. If it is lost, the controller rebuilds it from AWS.',
    default: {},
  },
);
export interface AWSFargateProfileStatus extends TypeOf<typeof AWSFargateProfileStatus> {}
