import type { KubeObject } from 'controller-runtime/client';
import { fieldAt, isRecord } from 'controller-runtime/json';
import { FINALIZER, PAUSED_ANNOTATION, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import { type Aws, type AwsRequest, ELSEWHERE, arnOfProfile, arnOfRole, userOf } from './aws.ts';
import { type Answered, NAMESPACE } from './reconcile.ts';
import { LONG_AGO } from './time.ts';
import { CLUSTER_PATH, pathOf, type World } from './world.ts';

// These properties follow docs/concepts.md and the AWS documentation, and use none of the product's logic.

/**
 * Returns the property that a call breaks; undefined: none. The call has just changed AWS, for the AWSFargateProfile
 * `by`.
 */
export function findHarm(
  before: World,
  request: AwsRequest,
  by: string,
  answered: readonly Answered[],
): string | undefined {
  const { profiles, roles } = before.aws;
  const profile = profileIn(request);
  const found = profile === undefined ? undefined : profiles[profile];
  const role = roleIn(request);
  const used = role === undefined ? undefined : roles[role.toLowerCase()];
  if (found?.isStripped || used?.isStripped) {
    const name = profile ?? role ?? '';
    if (isKnownStripped(answered, name)) return `${request.call} changes ${name}, which has lost its tags`;
  } else {
    if (found !== undefined && found.by !== by) return `${request.call} changes profile ${profile} of ${found.by}`;
    if (used?.by === 'stranger') return `${request.call} changes role ${role} of another client`;
  }
  if (request.call === 'DeleteRole' && role !== undefined && used !== undefined) {
    const user = userOf(before.aws, arnOfRole(used.path, role));
    if (user !== undefined) return `role ${role} is deleted under profile ${user}`;
  }
  if (request.call === 'DetachRolePolicy' && used !== undefined) {
    const loser = loserOf(before, arnOfRole(used.path, request.name), request.policy, by);
    if (loser !== undefined)
      return `policy ${request.policy} is detached under profile ${loser}, whose object wants it`;
  }
  const isDeletion = request.call === 'DeleteFargateProfile' || request.call === 'DeleteRole';
  const paused = isDeletion || request.call === 'EvictPod' ? findPause(by, answered) : undefined;
  if (paused !== undefined) return paused;
  if (request.call === 'EvictPod' && isTaker(before.aws, request.name, by))
    return `the pod on ${request.name} is evicted, and would start there again`;
  if (request.call !== 'DeleteFargateProfile') return undefined;
  return findGap(before, request.name, by, answered) ?? findStoppedPod(before, request.name, by);
}

/**
 * Returns an ACTIVE profile that uses the role, belongs to another object, and needs the policy. A profile needs the
 * policies in the spec of its object. If the object is gone, no spec shows what its profile needs, so the profile needs
 * all policies.
 */
function loserOf({ aws, objects }: World, role: string, policy: string, by: string): string | undefined {
  const found = Object.entries(aws.profiles).find(([, profile]) => {
    if (profile.role !== role || profile.status !== 'ACTIVE' || profile.by === by) return false;
    const policies = fieldAt(objects[pathOf(profile.by)]?.['spec'], 'roleAdditionalPolicies');
    return objects[pathOf(profile.by)] === undefined || (Array.isArray(policies) && policies.includes(policy));
  });
  return found?.[0];
}

/**
 * Whether EKS would start a new pod on this profile, because its name is the first among the ACTIVE profiles of `by`.
 */
function isTaker({ profiles }: Aws, name: string, by: string): boolean {
  const active = Object.entries(profiles).filter(([, each]) => each.status === 'ACTIVE' && each.by === by);
  return active.every(([each]) => name <= each);
}

/**
 * Reports a deletion that stops a pod that could move to another profile, before the drain has taken `drainTimeout`.
 */
function findStoppedPod({ aws, objects }: World, name: string, by: string): string | undefined {
  const object = objects[pathOf(by)];
  const profile = aws.profiles[name];
  const replace = fieldAt(fieldAt(object?.['spec'], 'updateStrategy'), 'replace');
  if (object === undefined || isDeleting(object) || fieldAt(replace, 'drainTimeout') === undefined) return undefined;
  if (profile?.pod === undefined || isTaker(aws, name, by)) return undefined;
  const recorded: unknown = fieldAt(JSON.parse(object.metadata.annotations?.[RECORD_ANNOTATION] ?? '{}'), 'profiles');
  const entry: unknown = Array.isArray(recorded)
    ? recorded.find((each: unknown) => fieldAt(each, 'name') === name)
    : undefined;
  const since = fieldAt(entry, 'drainSince');
  const isOver = typeof since === 'string' && Date.parse(since) <= LONG_AGO;
  return isOver ? undefined : `the pod on ${name} is stopped although it could still move`;
}

/**
 * Reports a reconcile that deletes something in AWS or evicts a pod although it has not read the object from the API
 * server, or has read that the object or its Cluster is paused.
 */
function findPause(by: string, answered: readonly Answered[]): string | undefined {
  const last = (path: string): unknown => {
    const found = answered.findLast(
      ({ request }) => request.to === 'api' && request.verb === 'get' && request.path === path,
    );
    return found !== undefined && 'value' in found.answer ? found.answer.value : undefined;
  };
  const object = last(pathOf(by));
  if (!isRecord(object))
    return `something of ${by} is deleted or evicted although the reconcile has not read it from the API server`;
  const annotations = fieldAt(object['metadata'], 'annotations');
  const isPaused = fieldAt(annotations, PAUSED_ANNOTATION) !== undefined;
  const isClusterPaused = fieldAt(fieldAt(last(CLUSTER_PATH), 'spec'), 'paused') === true;
  return isPaused || isClusterPaused ? `something of ${by} is deleted or evicted although it is paused` : undefined;
}

/**
 * Whether the reconcile has read that the profile or role lacks its ownership tags. If a client removes the tags after
 * this read, the controller cannot know it.
 */
function isKnownStripped(answered: readonly Answered[], name: string | undefined): boolean {
  const last = answered.findLast(
    ({ request }) =>
      request.to === 'aws' &&
      (request.call === 'GetRole' || request.call === 'DescribeFargateProfile') &&
      request.name === name,
  );
  const text = JSON.stringify(last?.answer ?? '');
  return text.includes('"tags"') && !text.includes('cluster-api-provider-aws-fargate/');
}

/**
 * Reports the deletion of the last ACTIVE profile of an object that is not being deleted. An object that was never
 * Ready may lose its profile. If the reconcile has read another ACTIVE profile of the object, the deletion is allowed
 * too, because the controller cannot know that another client deletes this other profile after the read.
 */
function findGap({ aws, objects }: World, name: string, by: string, answered: readonly Answered[]): string | undefined {
  const object = objects[pathOf(by)];
  if (aws.profiles[name]?.status !== 'ACTIVE' || object === undefined || isDeleting(object)) return undefined;
  const hasOther = Object.entries(aws.profiles).some(
    ([each, { status, by: owner }]) => each !== name && owner === by && status === 'ACTIVE',
  );
  const hasReadOther = answered.some(({ request, answer }) => {
    if (request.to !== 'aws' || request.call !== 'DescribeFargateProfile' || request.name === name) return false;
    const profile = 'right' in answer ? fieldAt(answer.right, 'profile') : undefined;
    const isOwn = JSON.stringify(fieldAt(profile, 'tags') ?? {}).includes(`"${NAMESPACE}/${by}"`);
    return isOwn && fieldAt(profile, 'status') === 'ACTIVE';
  });
  const wasNeverReady = fieldAt(fieldAt(object['status'], 'initialization'), 'provisioned') !== true;
  return hasOther || hasReadOther || wasNeverReady
    ? undefined
    : `the last ACTIVE profile ${name} of the living ${by} is deleted`;
}

/**
 * Reports a pass that writes `Ready` True although it has read only profiles that are not ACTIVE or do not have the
 * selectors of the spec. A pass that got no answer about a profile may leave `Ready` as it was.
 */
export function findUntrueReady(answered: readonly Answered[]): string | undefined {
  const written = answered.findLast(
    ({ request, answer }) =>
      request.to === 'api' && request.verb === 'patch' && request.subresource === 'status' && 'value' in answer,
  );
  const object = written && 'value' in written.answer ? (written.answer.value as KubeObject) : undefined;
  if (object === undefined || fieldAt(object['status'], 'ready') !== true) return undefined;
  const read = answered.flatMap(({ request, answer }) =>
    request.to === 'aws' && request.call === 'DescribeFargateProfile' && 'right' in answer ? [answer.right] : [],
  );
  const wanted = JSON.stringify(namespacesOf(fieldAt(object['spec'], 'selectors')));
  const isTrue = read.some((found) => {
    const profile = fieldAt(found, 'profile');
    const isWanted = JSON.stringify(namespacesOf(fieldAt(profile, 'selectors'))) === wanted;
    return isWanted && fieldAt(profile, 'status') === 'ACTIVE';
  });
  const isOfThisSpec = fieldAt(object['status'], 'observedGeneration') === object.metadata.generation;
  if (read.length === 0 || isTrue || !isOfThisSpec) return undefined;
  return `${object.metadata.name} is Ready, but the reconcile has read ${JSON.stringify(read)}`;
}

const namespacesOf = (selectors: unknown): readonly unknown[] =>
  Array.isArray(selectors) ? selectors.map((each) => fieldAt(each, 'namespace')) : [];

/** Returns the property that a state breaks; undefined: none. */
export function findBroken({ aws, objects, ledger }: World): string | undefined {
  const mayStay = (by: string, arn: string): boolean =>
    by === 'stranger' ||
    by === ELSEWHERE ||
    objects[pathOf(by)]?.metadata.finalizers?.includes(FINALIZER) === true ||
    ledger.retained.includes(arn);
  for (const [name, { by, serial }] of Object.entries(aws.profiles))
    if (!mayStay(by, arnOfProfile(name, { serial }))) return `profile ${name} of ${by} is leaked`;
  for (const [name, { by, path }] of Object.entries(aws.roles)) {
    const arn = arnOfRole(path, name);
    const isUsed = userOf(aws, arn) !== undefined || Object.values(objects).some((object) => namesRole(object, name));
    if (!isUsed && !mayStay(by, arn)) return `role ${name} of ${by} is leaked`;
  }
  return undefined;
}

const namesRole = (object: KubeObject | undefined, role: string): boolean =>
  object?.metadata.finalizers?.includes(FINALIZER) === true &&
  [fieldAt(object['spec'], 'roleName'), fieldAt(fieldAt(object['status'], 'role'), 'name')].includes(role);

export const isDeleting = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

function profileIn(request: AwsRequest): string | undefined {
  if (request.call === 'DeleteFargateProfile') return request.name;
  return request.call === 'TagResource' || request.call === 'UntagResource' ? request.arn.split('/').at(-2) : undefined;
}

function roleIn(request: AwsRequest): string | undefined {
  if (request.call === 'DeleteAccessEntry') return request.arn.split('/').at(-1);
  return 'name' in request && request.call.includes('Role') ? request.name : undefined;
}
