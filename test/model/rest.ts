import type { KubeObject } from 'controller-runtime/client';
import { fieldAt } from 'controller-runtime/json';
import { FINALIZER, PAUSED_ANNOTATION, RECORD_ANNOTATION } from '../../api/v1beta2/index.ts';
import { arnOfRole, ownedBy, userOf } from './aws.ts';
import { conditionOf } from '../simulation/world/status-checker.ts';
import { EKS_POLICY } from '../world/aws/capa-resources.ts';
import { isDeleting } from './safety.ts';
import type { Scenario } from './transitions.ts';
import { CLUSTER_PATH, CONTROL_PLANE_PATH, pathOf, type World } from './world.ts';

/** Whether an object may stay in a state forever. `as` is e.g. `Ready`, or the reason why its user has to act. */
export type Rest =
  { readonly kind: 'rests'; readonly as: string } | { readonly kind: 'wrong'; readonly because: string };

/** Judges each object of a state in which the controller and AWS have come to rest. */
export const restsOf = (world: World, { profiles, stalls }: Scenario): readonly Rest[] =>
  profiles.map((name) => restOf(world, name, stalls));

function restOf(world: World, name: string, stalls: readonly string[]): Rest {
  const object = world.objects[pathOf(name)];
  if (object === undefined) return restWithout(world, name);
  const cluster = world.objects[CLUSTER_PATH];
  if (cluster !== undefined && fieldAt(cluster['spec'], 'paused') === true) return rests('paused');
  if (object.metadata.annotations?.[PAUSED_ANNOTATION] !== undefined) return rests('paused');
  const stalled = conditionOf(object, 'Stalled');
  const reason = stalled?.status === 'True' ? stalled.reason : undefined;
  if (reason !== undefined && stalls.includes(reason))
    return reason === 'SpecDiffers' && !hasServed(object)
      ? wrong(`${name} has never served, and stalls`)
      : rests(reason);
  if (isDeleting(object)) return wrong(`${name} stays although it is deleted (${reasonsOf(object)})`);
  const controlPlane = world.objects[CONTROL_PLANE_PATH];
  if (cluster === undefined || isDeleting(cluster) || controlPlane === undefined) {
    const hasFinalizer = object.metadata.finalizers?.includes(FINALIZER) === true;
    return hasFinalizer ? wrong(`${name} outlives its cluster (${reasonsOf(object)})`) : rests('without a cluster');
  }
  // Without the EKS cluster, CAPA never reports the control plane as ready.
  if (fieldAt(controlPlane['status'], 'ready') !== true) return rests('without a ready control plane');
  if (conditionOf(object, 'Ready')?.status !== 'True') return wrong(`${name} is not Ready: ${reasonsOf(object)}`);
  return restWhenReady(world, name, object);
}

/**
 * Whether a profile of the object has ever been ACTIVE and matched the spec. If the spec changes just then, this
 * profile stays, and the object may rest with SpecDiffers.
 */
function hasServed({ metadata }: KubeObject): boolean {
  const profiles = fieldAt(JSON.parse(metadata.annotations?.[RECORD_ANNOTATION] ?? '{}'), 'profiles');
  return Array.isArray(profiles) && profiles.some((each: unknown) => fieldAt(each, 'served') === true);
}

function restWhenReady({ aws }: World, name: string, object: KubeObject): Rest {
  if (fieldAt(object['status'], 'observedGeneration') !== object.metadata.generation)
    return wrong(`${name} is Ready of an older generation`);
  const own = Object.entries(aws.profiles).filter(([, { by }]) => by === name);
  const [profile, ...others] = own;
  if (profile === undefined || others.length > 0) return wrong(`${name} is Ready with ${own.length} profiles`);
  const [, { status, selectors, role: arn }] = profile;
  if (status !== 'ACTIVE') return wrong(`${name} is Ready, and its profile is ${status}`);
  const wanted = (fieldAt(object['spec'], 'selectors') as readonly { readonly namespace: string }[]).map(
    ({ namespace }) => namespace,
  );
  const found = selectors.map(({ namespace }) => namespace);
  if (wanted.join() !== found.join())
    return wrong(`${name} is Ready with the selectors ${found.join()} instead of ${wanted.join()}`);
  const roles = Object.entries(aws.roles);
  const used = roles.find(([each, { path }]) => arnOfRole(path, each).toLowerCase() === arn.toLowerCase());
  if (used === undefined) return wrong(`${name} is Ready without its role`);
  const [, { by, attached }] = used;
  const additional = (fieldAt(object['spec'], 'roleAdditionalPolicies') ?? []) as readonly string[];
  const missing = [EKS_POLICY, ...additional].find((each) => !attached.includes(each));
  if (by !== 'stranger' && missing !== undefined) return wrong(`${name} is Ready, and its role lacks ${missing}`);
  const entry = aws.entries[arn];
  if (aws.mode === 'API' && entry?.role !== used[1].serial)
    return wrong(`${name} is Ready, and the access entry of its role is outdated`);
  const left = roles.find(
    ([each, role]) => role.by === name && each !== used[0] && userOf(aws, arnOfRole(role.path, each)) === undefined,
  );
  return left === undefined ? rests('Ready') : wrong(`${name} is Ready, and role ${left[0]} is left`);
}

/**
 * Returns how an object rests that no longer exists. Its profile and roles must be gone too, except retained resources
 * and roles that another profile uses.
 */
function restWithout({ aws, ledger }: World, name: string): Rest {
  const own = ownedBy(aws, name);
  if (own.length === 0) return rests('gone');
  return own.every((arn) => ledger.retained.includes(arn)) ? rests('retained') : rests('gone, its role is shared');
}

const rests = (as: string): Rest => ({ kind: 'rests', as });
const wrong = (because: string): Rest => ({ kind: 'wrong', because });

const reasonsOf = (object: KubeObject): string =>
  ['Ready', 'Reconciling', 'Stalled']
    .flatMap((type) => {
      const condition = conditionOf(object, type);
      return condition === undefined ? [] : [`${type} ${condition.status} ${condition.reason}`];
    })
    .join(', ');
