import * as E from 'fp-ts/lib/Either.js';
import { AccountId, ClusterName, EksClusterName, ProfileName, RoleArn, RoleName } from '../../../api/names.ts';
import type { AWSManagedControlPlane, Cluster } from '../../../api/external/index.ts';
import { CONTROL_PLANE_GROUP, CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import type { NamespacedMeta } from '../../../api/meta.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec, AWSFargateProfileStatus } from '../../../api/v1beta2/index.ts';
import { API_VERSION, FINALIZER, KIND, PROVISIONED_IN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { AwsFailure } from '../../../pkg/cloud/failure.ts';
import type { FargateProfile } from '../../../pkg/cloud/types.ts';
import type { Place } from '../../../pkg/fargate/arns.ts';
import { podExecutionPolicyArn } from '../../../pkg/fargate/arns.ts';
import { parseTimestamp } from '../../../pkg/env/timestamp.ts';
import { trustPolicy } from '../../../pkg/fargate/trust.ts';
import type { Circumstances } from '../desired.ts';
import { desiredBy } from '../desired.ts';
import type { Inputs } from '../inputs.ts';
import type { Desired, FoundRole, Observed, Surroundings, Target } from '../model.ts';
import { NOWHERE } from '../whereabouts.ts';

// One object, `team-a/web` of Cluster `prod`, and what belongs to it. Each builder gives the plain case; a test names
// what is different in its own.

export const ACCOUNT = AccountId.of('111122223333');
export const EKS_CLUSTER = EksClusterName.of('team-a_prod-control-plane');
export const PROFILE = ProfileName.of('team-a_web');
/** The name that Cluster API Provider AWS computes for Cluster `prod` and profile `team-a_web`. */
export const ROLE = RoleName.of('prod-team-a_web_fargate');
export const PLACE: Place = { partition: 'aws', region: 'eu-west-1', account: ACCOUNT };
export const ROLE_ARN = RoleArn.of(`arn:aws:iam::111122223333:role/${ROLE}`);
export const POD_EXECUTION_POLICY = podExecutionPolicyArn('aws');
/** When the object was made. */
export const THEN = '2026-11-20T10:00:00Z';
/** Every timestamp here is before it. */
export const NOW = instant('2026-11-21T03:25:00Z');

export const OWNER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/owner';
export const EKS_CLUSTER_TAG = 'sigs.k8s.io/cluster-api-provider-aws-fargate/eks-cluster';
export const CAPA_TAG = 'kubernetes.io/cluster/prod';
export const CLUSTER_ARN = 'arn:aws:eks:eu-west-1:111122223333:cluster/team-a_prod-control-plane';
export const PROFILE_TAGS = { [CAPA_TAG]: 'owned', [OWNER_TAG]: 'team-a/web' };
export const ROLE_TAGS = { [CAPA_TAG]: 'owned', [EKS_CLUSTER_TAG]: CLUSTER_ARN };
export const TRUST = trustPolicy({ ...PLACE, cluster: EKS_CLUSTER });

export const TARGET: Target = {
  clusterName: ClusterName.of('prod'),
  eksCluster: EKS_CLUSTER,
  region: 'eu-west-1',
  identity: undefined,
};

export const SURROUNDINGS: Surroundings = {
  controlPlaneTags: {},
  privateSubnets: ['subnet-0a', 'subnet-0b'],
  controlPlane: { namespace: 'team-a', name: 'prod-control-plane' },
  noCreation: undefined,
};

export interface ObjectParts {
  readonly metadata?: Partial<NamespacedMeta>;
  readonly spec?: Partial<AWSFargateProfileSpec>;
  readonly status?: AWSFargateProfileStatus;
}

export function anObject({ metadata, spec, status }: ObjectParts = {}): AWSFargateProfile {
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: {
      name: 'web',
      namespace: 'team-a',
      uid: 'uid-of-web',
      resourceVersion: '100',
      generation: 1,
      creationTimestamp: THEN,
      finalizers: [FINALIZER],
      annotations: { [PROVISIONED_IN_ANNOTATION]: NOWHERE },
      ...metadata,
    },
    spec: { clusterName: ClusterName.of('prod'), selectors: [{ namespace: 'web' }], ...spec },
    ...(status && { status }),
  };
}

/** The object after `kubectl delete`. */
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
/** What status says of where the object is. */
export const RECORDED = { account: ACCOUNT, region: 'eu-west-1', eksClusterName: EKS_CLUSTER };

/** All there and at rest; each part can be replaced. */
export function inputs(over: Partial<Inputs> = {}): Inputs {
  return {
    object: anObject(),
    cluster: found(aCluster()),
    clusterApiVersion: 'cluster.x-k8s.io/v1beta2',
    controlPlane: found(aControlPlane()),
    sharers: [],
    ...over,
  };
}

export function circumstances(over: Partial<Circumstances> = {}): Circumstances {
  return {
    target: TARGET,
    surroundings: SURROUNDINGS,
    surplus: 'delete',
    account: ACCOUNT,
    sharers: [],
    createUnseen: false,
    ...over,
  };
}

/** What an object desires; it must be one that desires something that can be had. */
export function desiredOf(object: AWSFargateProfile = anObject(), over: Partial<Circumstances> = {}): Desired {
  const desired = desiredBy(object, circumstances(over));
  if (E.isLeft(desired)) throw new Error(`nothing can be desired: ${JSON.stringify(desired.left)}`);
  return desired.right;
}

/** What an object desires that is being deleted. */
export const desiredOfDeletion = (
  object: AWSFargateProfile = aDeletedObject(),
  over: Partial<Circumstances> = {},
): Desired => desiredOf(object, { surroundings: undefined, ...over });

/** The object's own profile, ACTIVE as wanted. */
export function aProfile(over: Partial<FargateProfile> = {}): FargateProfile {
  const name = over.name ?? PROFILE;
  return {
    name,
    arn: `arn:aws:eks:eu-west-1:111122223333:fargateprofile/${EKS_CLUSTER}/${name}/0ec0ffee`,
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

/** The object's own role, as wanted. */
export function aRole(over: Partial<FoundRole> = {}): FoundRole {
  const { name = ROLE, path = '/' } = over;
  return {
    name,
    path,
    arn: RoleArn.of(`arn:aws:iam::111122223333:role${path}${name}`),
    id: 'AROAEXAMPLE',
    trust: TRUST,
    tags: ROLE_TAGS,
    attached: [POD_EXECUTION_POLICY],
    blockers: [],
    ...over,
  };
}

/** What AWS has of the object: profile and role, if not left out. */
export function observed({
  profile,
  role,
  ...rest
}: Partial<Omit<Observed, 'profiles' | 'roles'>> & {
  readonly profile?: FargateProfile | undefined;
  readonly role?: FoundRole | undefined;
} = {}): Observed {
  return {
    cluster: 'there',
    profiles: [{ name: profile?.name ?? PROFILE, found: profile }],
    roles: [{ name: role?.name ?? ROLE, found: role }],
    ...rest,
  };
}

/** AWS has all that the object wants. */
export const asWanted = (): Observed => observed({ profile: aProfile(), role: aRole() });

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

/** In ms since 1970. */
export function instant(timestamp: string): number {
  const parsed = parseTimestamp(timestamp);
  if (parsed === undefined) throw new RangeError(`${timestamp} is no timestamp`);
  return parsed;
}
