import * as E from 'fp-ts/lib/Either.js';
import { parseTimestamp } from 'controller-runtime/env';
import type { NamespacedMeta } from 'controller-runtime/schema';
import { AccountId, ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import {
  type AWSManagedControlPlane,
  type Cluster,
  CONTROL_PLANE_GROUP,
  CONTROL_PLANE_KIND,
} from '../../../api/external/index.ts';
import {
  type AWSFargateProfile,
  type AWSFargateProfileSpec,
  type AWSFargateProfileStatus,
  API_VERSION,
  FINALIZER,
  KIND,
  RECORD_ANNOTATION,
} from '../../../api/v1beta2/index.ts';
import type { AwsFailure, FargateProfile } from '../../../pkg/cloud/index.ts';
import { type AwsLocation, podExecutionPolicyArn } from '../../../pkg/fargate/arns.ts';
import { NO_LIMITS } from '../../../pkg/fargate/operator-limits.ts';
import { trustPolicy } from '../../../pkg/fargate/trust-policy.ts';
import { FIRST_RECORD, type ProfileRecord, formatRecord, recordOf } from '../../shared/record.ts';
import { baseNameOf } from '../../shared/profile-names.ts';
import { type DesiredInputs, desiredFor } from '../desired/desired.ts';
import type { ReconcileInputs } from '../goal/inputs.ts';
import type { Desired, SharersSettings } from '../model/desired-state.ts';
import type { FoundRole, Observed } from '../model/observed-state.ts';
import type { CreationFacts, Target } from '../goal/target.ts';
import { identityOf } from '../model/owner.ts';
import { updateRecord, withUnanswered } from '../record-after-read.ts';

// The functions of this file build the AWSFargateProfile `team-a/web` of Cluster `prod`, and the Kubernetes objects and
// AWS resources that belong to it. Each function builds the usual case. A test passes only the fields that differ.

export const ACCOUNT = AccountId.of('111122223333');
export const EKS_CLUSTER = EksClusterName.of('team-a_prod-control-plane');
export const PROFILE = ProfileName.of('team-a_web');
/**
 * The name that Cluster API Provider AWS computes for the IAM role of Fargate profile `team-a_web` in Cluster `prod`.
 */
export const ROLE = RoleName.of('prod-team-a_web_fargate');
export const PLACE: AwsLocation = { partition: 'aws', region: 'eu-west-1', account: ACCOUNT };
export const ROLE_ARN = RoleArn.of(`arn:aws:iam::111122223333:role/${ROLE}`);
export const POD_EXECUTION_POLICY = podExecutionPolicyArn('aws');
/** The creationTimestamp of the AWSFargateProfile `team-a/web`. */
export const CREATED_AT = '2026-11-20T10:00:00Z';
/** The current time in the tests, in milliseconds since 1970. */
export const NOW = instant('2026-11-21T03:25:00Z');

// The tests spell out tag keys and ARNs instead of importing them from pkg/fargate. So a test fails if a tag key
// changes, which would disown all existing AWS resources.
export const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
export const EKS_CLUSTER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
export const NAMESPACE_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/namespace';
export const CAPA_TAG = 'kubernetes.io/cluster/prod';
export const CLUSTER_ARN = 'arn:aws:eks:eu-west-1:111122223333:cluster/team-a_prod-control-plane';
export const PROFILE_TAGS = { [CAPA_TAG]: 'owned', [OWNER_TAG]: 'team-a/web' };
export const ROLE_TAGS = { [CAPA_TAG]: 'owned', [EKS_CLUSTER_TAG]: CLUSTER_ARN, [NAMESPACE_TAG]: 'team-a' };
export const TRUST = trustPolicy({ ...PLACE, cluster: EKS_CLUSTER });

export const TARGET: Target = {
  clusterName: ClusterName.of('prod'),
  eksCluster: EKS_CLUSTER,
  region: 'eu-west-1',
  identity: undefined,
};

export const CREATION_FACTS: CreationFacts = {
  controlPlaneTags: {},
  privateSubnets: ['subnet-0a', 'subnet-0b'],
  controlPlane: { namespace: 'team-a', name: 'prod-control-plane' },
  creationBlocker: undefined,
};

export interface ObjectParts {
  readonly metadata?: Partial<NamespacedMeta>;
  readonly spec?: Partial<AWSFargateProfileSpec>;
  readonly status?: AWSFargateProfileStatus;
  /**
   * The record's fields besides those of {@link FIRST_RECORD}. If `annotations` lacks a record, the object has none.
   */
  readonly record?: Partial<ProfileRecord>;
}

export function anObject({ metadata, spec, status, record }: ObjectParts = {}): AWSFargateProfile {
  const meta = { name: 'web', namespace: 'team-a', uid: 'uid-of-web', resourceVersion: '100', ...metadata };
  const annotation = { [RECORD_ANNOTATION]: formatRecord({ ...FIRST_RECORD, ...record }, { metadata: meta }) };
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: {
      generation: 1,
      creationTimestamp: CREATED_AT,
      finalizers: [FINALIZER],
      ...meta,
      annotations:
        record === undefined ? (metadata?.annotations ?? annotation) : { ...annotation, ...metadata?.annotations },
    },
    spec: { clusterName: ClusterName.of('prod'), selectors: [{ namespace: 'web' }], ...spec },
    ...(status && { status }),
  };
}

/** Returns the AWSFargateProfile `team-a/web` after `kubectl delete`. */
export function aDeletedObject({ metadata, ...rest }: ObjectParts = {}): AWSFargateProfile {
  return anObject({ ...rest, metadata: { deletionTimestamp: '2026-11-21T03:00:00Z', generation: 2, ...metadata } });
}

export function aCluster(
  over: Partial<Omit<Cluster, 'metadata'>> & { metadata?: Partial<NamespacedMeta> } = {},
): Cluster {
  const { metadata, ...rest } = over;
  return {
    paused: false,
    controlPlaneRef: {
      group: CONTROL_PLANE_GROUP,
      kind: CONTROL_PLANE_KIND,
      namespace: 'team-a',
      name: 'prod-control-plane',
    },
    ...rest,
    metadata: { name: 'prod', namespace: 'team-a', uid: 'uid-of-prod', resourceVersion: '10', ...metadata },
  };
}

export function aControlPlane(
  over: Partial<Omit<AWSManagedControlPlane, 'metadata'>> & { metadata?: Partial<NamespacedMeta> } = {},
): AWSManagedControlPlane {
  const { metadata, ...rest } = over;
  return {
    region: 'eu-west-1',
    additionalTags: {},
    subnets: [
      { id: 'subnet-0a', isPublic: false, tags: {} },
      { id: 'subnet-0b', isPublic: false, tags: {} },
    ],
    ready: true,
    eksClusterName: EKS_CLUSTER,
    ...rest,
    metadata: { name: 'prod-control-plane', namespace: 'team-a', uid: 'uid-of-cp', resourceVersion: '20', ...metadata },
  };
}

export const found = <A>(object: A) => ({ kind: 'found', object }) as const;
export const ABSENT = { kind: 'absent' } as const;
/**
 * The status fields that record the AWS account, the region, and the EKS cluster of the AWSFargateProfile `team-a/web`.
 */
export const RECORDED = { account: ACCOUNT, region: 'eu-west-1', eksClusterName: EKS_CLUSTER };
/** The place in {@link RECORDED}, as a record contains it. */
export const HERE = { kind: 'known', account: ACCOUNT, region: 'eu-west-1', eksCluster: EKS_CLUSTER } as const;
/** The ID of the profile that {@link aProfile} returns. */
export const PROFILE_ID = '0ec0ffee';
/** The record of an object that has the profile of {@link aProfile} and the role of {@link aRole}. */
export const FULL_RECORD = {
  in: HERE,
  profiles: [{ name: PROFILE, id: PROFILE_ID, served: true }],
  roles: [{ name: ROLE, id: 'AROAEXAMPLE', checked: true }],
} as const satisfies Partial<ProfileRecord>;
/** The AWSFargateProfile `team-a/web` after `clusterctl move`, which keeps annotations and drops status. */
export const MOVED = { record: FULL_RECORD } as const satisfies ObjectParts;

/** Returns the Kubernetes objects that a reconcile reads, with a ready Cluster and a ready control plane. */
export function inputs(over: Partial<ReconcileInputs> = {}): ReconcileInputs {
  return {
    object: anObject(),
    cluster: found(aCluster()),
    clusterApiVersion: 'cluster.x-k8s.io/v1beta2',
    controlPlane: found(aControlPlane()),
    ...over,
  };
}

export function desiredInputs(over: Partial<DesiredInputs> = {}): DesiredInputs {
  return {
    target: TARGET,
    targetSource: 'controlPlane',
    creationFacts: CREATION_FACTS,
    unwanted: 'delete',
    isLeavingWithCluster: over.abandonment === 'removeFinalizer',
    account: ACCOUNT,
    limits: NO_LIMITS,
    isQuotaExceeded: false,
    ...over,
  };
}

/** Returns the part of the inputs that says what other objects with the role want: by default nothing. */
export const sharedBy = (others: Partial<SharersSettings>): Partial<DesiredInputs> => ({
  sharersSettings: () => ({ roleConflict: undefined, keysOfOthers: [], unknownUsers: [], ...others }),
});

/** Returns what is desired after a reconcile has read `seen`; by default AWS has nothing. */
export function desiredOf(
  object: AWSFargateProfile = anObject(),
  over: Partial<DesiredInputs> = {},
  seen: Observed = observed(),
): Desired {
  const desired = desiredFor(object, desiredInputs(over), updatedRecordFor(object, seen, over), seen, NOW);
  if (E.isLeft(desired)) throw new Error(`no desired state: ${JSON.stringify(desired.left)}`);
  return desired.right;
}

/** Returns the object's record after a reconcile has read `seen`. Its unanswered requests have been known for `age`. */
export function updatedRecordFor(
  object: AWSFargateProfile,
  seen: Observed,
  over: Partial<DesiredInputs> = {},
  age = 60_000,
) {
  const given = desiredInputs(over);
  const record = recordOf(object);
  const identity = identityOf(object, given, baseNameOf(object, record));
  const isLeaving = given.creationFacts === undefined;
  const looking = { object, identity, record, isLeaving, isLeavingWithCluster: given.isLeavingWithCluster };
  return updateRecord(looking, seen, { unanswered: withUnanswered({}, record, 0), now: age });
}

export const desiredOfDeletion = (
  object: AWSFargateProfile = aDeletedObject(),
  over: Partial<DesiredInputs> = {},
  seen: Observed = observed(),
): Desired => desiredOf(object, { creationFacts: undefined, ...over }, seen);

/** Returns the Fargate profile of the AWSFargateProfile `team-a/web`: ACTIVE, and as in the spec. */
export function aProfile(over: Partial<FargateProfile> = {}): FargateProfile {
  const name = over.name ?? PROFILE;
  return {
    name,
    arn: `arn:aws:eks:eu-west-1:111122223333:fargateprofile/${EKS_CLUSTER}/${name}/${PROFILE_ID}`,
    cluster: EKS_CLUSTER,
    status: 'ACTIVE',
    podExecutionRoleArn: ROLE_ARN,
    subnets: ['subnet-0a', 'subnet-0b'],
    selectors: [{ namespace: 'web', labels: {} }],
    tags: PROFILE_TAGS,
    health: [],
    ...over,
  };
}

/** When the role of {@link aRole} was created, in milliseconds since 1970. */
export const ROLE_CREATED_AT = 1_700_000_000_000;

/** Returns the managed IAM role of the AWSFargateProfile `team-a/web`, with the attributes in the spec. */
export function aRole(over: Partial<FoundRole> = {}): FoundRole {
  const { name = ROLE, path = '/' } = over;
  return {
    name,
    path,
    arn: RoleArn.of(`arn:aws:iam::111122223333:role${path}${name}`),
    id: 'AROAEXAMPLE',
    createdAt: ROLE_CREATED_AT,
    trust: TRUST,
    tags: ROLE_TAGS,
    attached: [POD_EXECUTION_POLICY],
    blockers: [],
    ...over,
  };
}

/**
 * Returns the observed state of an AWS account with this Fargate profile and this role. A profile or role that is
 * `undefined` does not exist. The EKS cluster has no access entries.
 */
export function observed({
  profile,
  role,
  ...rest
}: Partial<Omit<Observed, 'profiles' | 'roles'>> & {
  readonly profile?: FargateProfile | undefined;
  readonly role?: FoundRole | undefined;
} = {}): Observed {
  return {
    depth: 'survey',
    cluster: 'there',
    profiles: profile === undefined ? [] : [profile],
    roles: [{ name: role?.name ?? ROLE, found: role }],
    accessEntries: [{ principal: role?.arn ?? ROLE_ARN, mode: 'CONFIG_MAP', found: undefined }],
    authenticationMode: 'API_AND_CONFIG_MAP',
    ...rest,
  };
}

/** Returns the observed state of an AWS account whose Fargate profile and role match the spec. */
export const asDesired = (): Observed => observed({ profile: aProfile(), role: aRole() });

export function aFailure(over: Partial<AwsFailure> = {}): AwsFailure {
  return {
    service: 'eks',
    operation: 'CreateFargateProfile',
    code: 'ServerException',
    statusCode: 500,
    message: 'Internal failure',
    ...over,
  };
}

export function instant(timestamp: string): number {
  const parsed = parseTimestamp(timestamp);
  if (parsed === undefined) throw new RangeError(`${timestamp} is no timestamp`);
  return parsed;
}
