import { formatTimestamp } from 'controller-runtime/env';
import type { ObjectMeta } from 'controller-runtime/schema';
import { type EksClusterName, ProfileName, RoleArn, RoleName } from '../../api/names.ts';
import type { AwsFailure, FargateProfile, NewFargateProfile, NewRole, Role } from '../../pkg/cloud/index.ts';
import type { Tags } from '../../pkg/fargate/tags/tag-keys.ts';
import { NOW } from './time.ts';

export const ACCOUNT = '111122223333';
export const REGION = 'eu-west-1';
/** The value of `by` for a resource that another management cluster has created for the same object. */
export const ELSEWHERE = 'another management cluster';
export const EKS_CLUSTER = 'team-a_prod-control-plane';

/**
 * The creator of a resource, which the manager cannot see. `by` is the AWSFargateProfile for which the resource was
 * created, or {@link ELSEWHERE}, or `stranger` for an unrelated creator.
 */
interface Provenance {
  readonly by: string;
  /** Another client has removed the tags that prove the ownership. */
  readonly isStripped?: true;
}

export interface ModelProfile extends Provenance {
  readonly status: 'CREATING' | 'ACTIVE' | 'DELETING' | 'CREATE_FAILED' | 'DELETE_FAILED';
  /** The unique id at the end of its ARN. */
  readonly serial: number;
  /** In milliseconds since the epoch. */
  readonly createdAt: number;
  readonly role: string;
  readonly subnets: readonly string[];
  readonly selectors: FargateProfile['selectors'];
  readonly tags: Tags;
  /** EKS does not show the profile yet. */
  readonly isHidden?: true;
  /** A pod of a ReplicaSet on the profile. */
  readonly pod?: ModelPod;
}

/**
 * `protected`: a PodDisruptionBudget forbids the pod's eviction; `leaving`: the pod is evicted and has not ended yet.
 */
export type ModelPod = 'running' | 'protected' | 'leaving';

export interface ModelRole extends Provenance {
  readonly serial: number;
  readonly path: string;
  readonly trust: string;
  readonly tags: Tags;
  readonly attached: readonly string[];
}

export interface Aws {
  readonly cluster: 'there' | 'gone';
  readonly mode: 'API' | 'API_AND_CONFIG_MAP' | 'CONFIG_MAP';
  readonly profiles: Readonly<Record<string, ModelProfile>>;
  readonly roles: Readonly<Record<string, ModelRole>>;
  /** The access entries by role ARN. `role` is the serial of the role to which EKS has bound the entry. */
  readonly entries: Readonly<Record<string, { readonly role: number; readonly serial: number }>>;
  /**
   * The number of profiles, roles and access entries that were created so far. It serves as the clock of creation
   * times.
   */
  readonly serial: number;
  /** A pod starts on each profile that becomes ACTIVE. */
  readonly hasPods?: true;
}

export type AwsRequest = { readonly to: 'aws' } & (
  | { readonly call: 'DescribeCluster' | 'ListFargateProfiles' }
  | { readonly call: 'DescribeFargateProfile' | 'DeleteFargateProfile'; readonly name: string }
  | { readonly call: 'CreateFargateProfile'; readonly profile: NewFargateProfile }
  | { readonly call: 'TagResource'; readonly arn: string; readonly tags: Tags }
  | { readonly call: 'UntagResource'; readonly arn: string; readonly keys: readonly string[] }
  | { readonly call: 'DescribeAccessEntry' | 'CreateAccessEntry' | 'DeleteAccessEntry'; readonly arn: string }
  | {
      readonly call:
        'GetRole' | 'DeleteRole' | 'ListAttachedRolePolicies' | 'ListRolePolicies' | 'ListInstanceProfilesForRole';
      readonly name: string;
    }
  | { readonly call: 'CreateRole'; readonly role: NewRole }
  | { readonly call: 'UpdateAssumeRolePolicy'; readonly name: string; readonly trust: string }
  | { readonly call: 'AttachRolePolicy' | 'DetachRolePolicy'; readonly name: string; readonly policy: string }
  | { readonly call: 'TagRole'; readonly name: string; readonly tags: Tags }
  // Requests to the API server of the EKS cluster, about the pod on the profile `name`.
  | { readonly call: 'ListPods' | 'EvictPod'; readonly name: string }
  | { readonly call: 'UntagRole'; readonly name: string; readonly keys: readonly string[] }
);

export type AwsAnswer = { readonly right: unknown } | { readonly left: AwsFailure };

const READS = /^(Describe|List|Get)/;
export const isAwsRead = ({ call }: AwsRequest): boolean => READS.test(call);

const BUSY = ['CREATING', 'DELETING'];
export const arnOfProfile = (name: string, { serial }: Pick<ModelProfile, 'serial'>): string =>
  `arn:aws:eks:${REGION}:${ACCOUNT}:fargateprofile/${EKS_CLUSTER}/${name}/id-${serial}`;
export const arnOfRole = (path: string, name: string): string => `arn:aws:iam::${ACCOUNT}:role${path}${name}`;

/**
 * Answers a call that a reconcile of the AWSFargateProfile `by` makes. Returns the state of AWS after the call, and the
 * answer.
 */
export function answerOfAws(aws: Aws, request: AwsRequest, by: string): readonly [Aws, AwsAnswer] {
  if (request.call === 'ListPods' || request.call === 'EvictPod') return answerOfPods(aws, request);
  const isOfRole = 'name' in request && request.call.includes('Role');
  if (isOfRole || request.call === 'CreateRole') return answerOfIam(aws, request, by);
  if (aws.cluster === 'there') return answerOfEks(aws, request, by);
  if (request.call === 'DescribeCluster') return [aws, { right: null }];
  if (isAwsRead(request)) return [aws, { right: { kind: 'clusterGone' } }];
  return [aws, failed(request, 404, 'ResourceNotFoundException', `No cluster found for name: ${EKS_CLUSTER}.`)];
}

const STATUS = { ResourceInUse: 409, ResourceNotFound: 404, NotFound: 404, InvalidParameter: 400 };

function answerOfEks(aws: Aws, request: AwsRequest, by: string): readonly [Aws, AwsAnswer] {
  const same = (right: unknown): readonly [Aws, AwsAnswer] => [aws, { right }];
  const refused = (code: keyof typeof STATUS, message: string): readonly [Aws, AwsAnswer] => [
    aws,
    failed(request, STATUS[code], `${code}Exception`, message),
  ];
  switch (request.call) {
    case 'DescribeCluster':
      return same({ status: 'ACTIVE', authenticationMode: aws.mode });
    case 'ListFargateProfiles': {
      const names = Object.entries(aws.profiles).flatMap(([name, { isHidden }]) => (isHidden ? [] : [name]));
      return same({ kind: 'listed', names });
    }
    case 'DescribeFargateProfile': {
      const profile = aws.profiles[request.name];
      const isSeen = profile !== undefined && profile.isHidden !== true;
      return same(isSeen ? { kind: 'found', profile: profileOf(request.name, profile) } : { kind: 'absent' });
    }
    case 'CreateFargateProfile': {
      const { name, podExecutionRoleArn: role, subnets, selectors, tags } = request.profile;
      if (aws.profiles[name] !== undefined)
        return refused('ResourceInUse', 'A Fargate Profile already exists with this name in this cluster.');
      const busy = busyProfile(aws, name);
      if (busy !== undefined) return refused('ResourceInUse', busyMessage('create', name, busy, aws));
      const serialOfItsRole = serialOfRole(aws, role);
      if (serialOfItsRole === undefined) return refused('InvalidParameter', TRUST_REFUSED);
      const serial = aws.serial + 1;
      const profile: ModelProfile = {
        status: 'CREATING',
        serial,
        createdAt: NOW + serial,
        role,
        subnets,
        selectors,
        tags,
        by,
      };
      const made = { ...aws, serial, profiles: { ...aws.profiles, [name]: profile } };
      const hasEntry = aws.mode === 'CONFIG_MAP' || aws.entries[role] !== undefined;
      return [hasEntry ? made : withEntry(made, role, serialOfItsRole), { right: profileOf(name, profile) }];
    }
    case 'DeleteFargateProfile': {
      const { name } = request;
      const profile = aws.profiles[name];
      if (profile === undefined) return refused('ResourceNotFound', `No Fargate Profile found with name: ${name}.`);
      const busy = BUSY.includes(profile.status) ? name : busyProfile(aws, name);
      if (busy !== undefined) return refused('ResourceInUse', busyMessage('delete', name, busy, aws));
      return [withProfile(aws, name, withoutPod({ ...profile, status: 'DELETING' })), { right: null }];
    }
    case 'TagResource':
    case 'UntagResource': {
      const [name, profile] =
        Object.entries(aws.profiles).find(([each, found]) => arnOfProfile(each, found) === request.arn) ?? [];
      if (name === undefined || profile === undefined) return refused('NotFound', 'no such resource');
      const tags =
        request.call === 'TagResource' ? { ...profile.tags, ...request.tags } : without(profile.tags, request.keys);
      return [withProfile(aws, name, { ...profile, tags }), { right: null }];
    }
    case 'DescribeAccessEntry':
      if (aws.entries[request.arn] === undefined) return same({ kind: 'absent' });
      return same({ kind: 'found', entry: entryOf(aws, request.arn) });
    case 'CreateAccessEntry': {
      const serial = serialOfRole(aws, request.arn);
      if (aws.entries[request.arn] !== undefined)
        return refused('ResourceInUse', 'The specified access entry resource is already in use on this cluster.');
      if (serial === undefined)
        return refused('InvalidParameter', 'The specified principalArn is invalid: invalid principal.');
      return [withEntry(aws, request.arn, serial), { right: null }];
    }
    case 'DeleteAccessEntry': {
      const { [request.arn]: entry, ...entries } = aws.entries;
      if (entry === undefined) return refused('ResourceNotFound', 'The specified access entry could not be found.');
      return [{ ...aws, entries }, { right: null }];
    }
    default:
      throw new Error(`EKS has no call ${request.call}`);
  }
}

function answerOfIam(aws: Aws, request: AwsRequest, by: string): readonly [Aws, AwsAnswer] {
  if (request.call === 'CreateRole') {
    const { name, path, trust, tags } = request.role;
    if (aws.roles[name.toLowerCase()] !== undefined)
      return [aws, failed(request, 409, 'EntityAlreadyExists', `Role with name ${name} already exists.`)];
    const serial = aws.serial + 1;
    const role: ModelRole = { serial, path, trust, tags, attached: [], by };
    return [{ ...withRole(aws, name, role), serial }, { right: roleOf(name, role) }];
  }
  if (!('name' in request)) throw new Error(`IAM has no call ${request.call}`);
  const { name } = request;
  const role = aws.roles[name.toLowerCase()];
  if (request.call === 'GetRole') return [aws, { right: role === undefined ? null : roleOf(name, role) }];
  // In the product, the functions `detach` and `untag` succeed if IAM has no such role (pkg/cloud/iam/iam-api.ts).
  if (role === undefined && (request.call === 'DetachRolePolicy' || request.call === 'UntagRole'))
    return [aws, { right: null }];
  if (role === undefined)
    return [aws, failed(request, 404, 'NoSuchEntity', `The role with name ${name} cannot be found.`)];
  const changed = (change: Partial<ModelRole>): readonly [Aws, AwsAnswer] => [
    withRole(aws, name, { ...role, ...change }),
    { right: null },
  ];
  switch (request.call) {
    case 'ListAttachedRolePolicies':
      return [aws, { right: role.attached }];
    case 'ListRolePolicies':
    case 'ListInstanceProfilesForRole':
      return [aws, { right: [] }];
    case 'DeleteRole': {
      if (role.attached.length > 0)
        return [aws, failed(request, 409, 'DeleteConflict', 'Cannot delete entity, must detach all policies first.')];
      const { [name.toLowerCase()]: _gone, ...roles } = aws.roles;
      return [{ ...aws, roles }, { right: null }];
    }
    case 'UpdateAssumeRolePolicy':
      return changed({ trust: request.trust });
    case 'AttachRolePolicy':
      return changed({ attached: [...new Set([...role.attached, request.policy])] });
    case 'DetachRolePolicy':
      return changed({ attached: role.attached.filter((each) => each !== request.policy) });
    case 'TagRole':
      return changed({ tags: { ...role.tags, ...request.tags } });
    case 'UntagRole':
      return changed({ tags: without(role.tags, request.keys) });
    default:
      throw new Error(`IAM has no call ${request.call}`);
  }
}

const BUDGET = "Cannot evict pod as it would violate the pod's disruption budget.";

function answerOfPods(aws: Aws, { call, name }: { readonly call: 'ListPods' | 'EvictPod'; readonly name: string }) {
  const profile = aws.profiles[name];
  const pod = profile?.pod;
  const same = (right: unknown): readonly [Aws, AwsAnswer] => [aws, { right }];
  if (call === 'ListPods') return same(pod === undefined ? [] : [podOf(name, pod)]);
  if (profile === undefined || pod === undefined) return same({ kind: 'gone' });
  if (pod === 'protected') return same({ kind: 'refused', said: BUDGET });
  return [withProfile(aws, name, { ...profile, pod: 'leaving' }), { right: { kind: 'accepted' } }] as const;
}

/** Returns the metadata of the pod, which is older than every drain. */
const podOf = (profile: string, pod: ModelPod): ObjectMeta => ({
  name: `of-${profile}`,
  namespace: 'web',
  uid: `of-${profile}`,
  resourceVersion: '',
  creationTimestamp: '2026-01-01T00:00:00Z',
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true }],
  ...(pod === 'leaving' && { deletionTimestamp: formatTimestamp(NOW) }),
});

/** Returns the profile after its pod has ended. */
export function withoutPod({ pod: _ended, ...profile }: ModelProfile): ModelProfile {
  return profile;
}

export const TRUST_REFUSED =
  'Misconfigured PodExecutionRole Trust Policy; Please add the eks-fargate-pods.amazonaws.com Service Principal';

/** Returns the failure of a call. With the status code 0, AWS has not answered. */
export const failed = (
  { call }: AwsRequest,
  statusCode: number,
  code: string,
  message: string,
): { readonly left: AwsFailure } => ({
  left: {
    service: /FargateProfile|AccessEntry|Cluster|^(Tag|Untag)Resource$/.test(call) ? 'eks' : 'iam',
    operation: call,
    code,
    message,
    ...(statusCode > 0 && { statusCode }),
  },
});

/**
 * Returns AWS after EKS has finished the creation or deletion of a profile; `isFailure`: the creation or deletion
 * failed.
 */
export function withEnd(aws: Aws, name: string, isFailure = false): Aws {
  const profile = aws.profiles[name];
  if (profile?.status === 'CREATING')
    return isFailure
      ? withProfile(aws, name, { ...profile, status: 'CREATE_FAILED' })
      : withProfile(aws, name, { ...profile, status: 'ACTIVE', ...(aws.hasPods && { pod: 'running' }) });
  if (profile?.status !== 'DELETING') return aws;
  if (isFailure) return withProfile(aws, name, { ...profile, status: 'DELETE_FAILED' });
  const { [name]: _gone, ...profiles } = aws.profiles;
  return { ...aws, profiles };
}

export function shown(aws: Aws, name: string): Aws {
  const { isHidden: _hidden, ...profile } = aws.profiles[name] ?? {};
  return { ...aws, profiles: { ...aws.profiles, [name]: profile as ModelProfile } };
}

export const withProfile = (aws: Aws, name: string, profile: ModelProfile): Aws => ({
  ...aws,
  profiles: { ...aws.profiles, [name]: profile },
});

export const withRole = (aws: Aws, name: string, role: ModelRole): Aws => ({
  ...aws,
  roles: { ...aws.roles, [name.toLowerCase()]: role },
});

function withEntry(aws: Aws, arn: string, role: number): Aws {
  const serial = aws.serial + 1;
  return { ...aws, serial, entries: { ...aws.entries, [arn]: { role, serial } } };
}

const serialOfRole = ({ roles }: Aws, arn: string): number | undefined =>
  Object.entries(roles).find(([name, { path }]) => arnOfRole(path, name).toLowerCase() === arn.toLowerCase())?.[1]
    .serial;

/** The ARNs of the profiles and roles that were created for the AWSFargateProfile. */
export const ownedBy = ({ profiles, roles }: Aws, by: string): readonly string[] => [
  ...Object.entries(profiles).flatMap(([name, each]) => (each.by === by ? [arnOfProfile(name, each)] : [])),
  ...Object.entries(roles).flatMap(([name, each]) => (each.by === by ? [arnOfRole(each.path, name)] : [])),
];

/** Returns the name of a profile that uses the role. */
export const userOf = ({ profiles }: Aws, arn: string): string | undefined =>
  Object.entries(profiles).find(([, { role }]) => role.toLowerCase() === arn.toLowerCase())?.[0];

/** Returns the name of the profile that EKS is creating or deleting, unless it is `name`. */
export const busyProfile = ({ profiles }: Aws, name?: string): string | undefined =>
  Object.entries(profiles).find(([each, { status }]) => each !== name && BUSY.includes(status))?.[0];

const busyMessage = (verb: string, name: string, busy: string, { profiles }: Aws): string =>
  `Cannot ${verb} Fargate Profile ${name} because cluster ${EKS_CLUSTER} currently has Fargate profile ${busy} in status ${profiles[busy]?.status}`;

const entryOf = ({ entries }: Aws, arn: string) => ({
  type: 'FARGATE_LINUX',
  createdAt: timeOf(entries[arn]?.serial ?? 0),
});

const timeOf = (serial: number): number => 1_700_000_000_000 + serial * 1_000;

const profileOf = (
  name: string,
  { status, serial, createdAt, role, subnets, selectors, tags }: ModelProfile,
): FargateProfile => ({
  name: ProfileName.of(name),
  arn: arnOfProfile(name, { serial }),
  createdAt,
  cluster: EKS_CLUSTER as EksClusterName,
  status,
  podExecutionRoleArn: RoleArn.of(role),
  subnets,
  selectors,
  tags,
  health: [],
});

const roleOf = (name: string, { serial, path, trust, tags }: ModelRole): Role => ({
  name: RoleName.of(name),
  arn: RoleArn.of(arnOfRole(path, name)),
  id: `AROA${serial}`,
  createdAt: timeOf(serial),
  path,
  trust,
  tags,
});

const without = (tags: Tags, keys: readonly string[]): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => !keys.includes(key)));
