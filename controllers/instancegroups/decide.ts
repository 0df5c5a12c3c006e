import * as E from 'fp-ts/lib/Either.js';
import type { FargateGroup } from '../../api/external/index.ts';
import { KEIKO_FINALIZER, decodeFargateGroup, isFargateGroup } from '../../api/external/index.ts';
import type { UnknownRecord } from '../../api/record.ts';
import { describeProblems } from '../../api/schema/problem.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec } from '../../api/v1beta2/index.ts';
import { keikoNames } from '../../pkg/fargate/keiko-names.ts';
import type { TypedEntry } from '../../pkg/kube/cache/typed-store.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeObject } from '../../pkg/kube/types.ts';
import { hasPausedAnnotation, isDeleting, isMoving } from '../shared/object-state.ts';
import { GROUP_FINALIZER, ORPHAN_FINALIZER } from './finalizers.ts';
import type { GroupState } from './group-state.ts';
import { describeProfile, errorState, mirroredState, nameTaken } from './group-state.ts';
import { profileSpec, profileSpecPatch } from './profile-spec.ts';

/** The change that one reconcile makes, besides the status of the keiko InstanceGroup. */
export type Action =
  | { readonly kind: 'none' }
  | { readonly kind: 'addFinalizer' }
  | { readonly kind: 'createProfile'; readonly spec: AWSFargateProfileSpec }
  /**
   * Makes the InstanceGroup the owner of an AWSFargateProfile that has no owner, for example after a restore from a
   * backup.
   */
  | { readonly kind: 'claimProfile'; readonly profile: KubeObject }
  | { readonly kind: 'updateProfile'; readonly profile: KubeObject; readonly patch: UnknownRecord }
  | { readonly kind: 'deleteProfile'; readonly profile: KubeObject }
  | { readonly kind: 'removeFinalizers'; readonly finalizers: readonly string[] };

export interface Decision {
  readonly action: Action;
  readonly state: GroupState;
}

/** A keiko InstanceGroup and its AWSFargateProfile, which has the namespace and the name of the InstanceGroup. */
export interface GroupInputs {
  readonly group: KubeObject;
  readonly profile: TypedEntry<AWSFargateProfile> | undefined;
}

const NONE: Action = { kind: 'none' };
const DELETING: GroupState = {
  state: 'Deleting',
  reason: 'Deleting',
  message: 'The AWSFargateProfile is being deleted',
};
const CREATING: GroupState = {
  state: 'InitCreate',
  reason: 'InitCreate',
  message: 'The AWSFargateProfile is to be created',
};

/**
 * Decides the next step for one keiko InstanceGroup. Returns `undefined` if this controller must leave the
 * InstanceGroup unchanged: the InstanceGroup has another provisioner, is paused, or is being moved to another
 * management cluster. A deleted InstanceGroup also stays unchanged if it owns no AWSFargateProfile and has neither this
 * controller's finalizer nor keiko's.
 */
export function decide({ group, profile }: GroupInputs): Decision | undefined {
  if (!isFargateGroup(group) || hasPausedAnnotation(group) || isMoving(group)) return undefined;
  return isDeleting(group) ? decideDeletion(group, profile) : decideLife(group, profile);
}

function decideLife(group: KubeObject, profile: GroupInputs['profile']): Decision {
  const decoded = decodeFargateGroup(group);
  if (E.isLeft(decoded)) {
    const kept = profile === undefined ? '' : '. The Fargate profile stays as it is';
    return { action: NONE, state: errorState('InvalidSpec', `${describeProblems(decoded.left)}${kept}`) };
  }
  const wanted = profileSpec(keyOf(group), decoded.right);
  if (profile === undefined) {
    // The AWSFargateProfile is created only after a finalizer keeps the InstanceGroup, and keiko's finalizer suffices.
    // A later reconcile adds this controller's finalizer, which shows that this controller has taken over the
    // InstanceGroup.
    const isKept = hasFinalizer(group, GROUP_FINALIZER) || hasFinalizer(group, KEIKO_FINALIZER);
    return { action: isKept ? { kind: 'createProfile', spec: wanted } : { kind: 'addFinalizer' }, state: CREATING };
  }
  if (!isOwnedBy(profile.object, group)) return decideUnowned(profile.object, wanted);
  if (!hasFinalizer(group, GROUP_FINALIZER)) return { action: { kind: 'addFinalizer' }, state: CREATING };
  return decideOwned(profile, wanted, decoded.right);
}

/**
 * Decides about an AWSFargateProfile that the InstanceGroup does not own. If it has no owner and its spec is as the
 * InstanceGroup asks for, the InstanceGroup becomes its owner.
 */
function decideUnowned(profile: KubeObject, wanted: AWSFargateProfileSpec): Decision {
  const { ownerReferences = [] } = profile.metadata;
  const patch = profileSpecPatch(profile.spec, wanted);
  if (ownerReferences.length === 0 && patch === undefined && !isDeleting(profile))
    return { action: { kind: 'claimProfile', profile }, state: CREATING };
  return { action: NONE, state: nameTaken(profile) };
}

function decideOwned(
  { object, decoded }: NonNullable<GroupInputs['profile']>,
  wanted: AWSFargateProfileSpec,
  group: FargateGroup,
): Decision {
  if (isDeleting(object)) {
    const message = `${describeProfile(object)} is being deleted. Afterwards the controller creates it again`;
    return { action: NONE, state: { state: 'ReconcileModifying', reason: 'ProfileDeleting', message } };
  }
  const patch = profileSpecPatch(object.spec, wanted);
  if (patch !== undefined) {
    const message = `${describeProfile(object)} is to be changed`;
    const state: GroupState = { state: 'InitUpdate', reason: 'InitUpdate', message };
    return { action: { kind: 'updateProfile', profile: object, patch }, state };
  }
  if (E.isRight(decoded)) return { action: NONE, state: mirroredState(decoded.right, group) };
  const message = `${describeProfile(object)} cannot be read: ${describeProblems(decoded.left)}`;
  return { action: NONE, state: errorState('ProfileUnreadable', message) };
}

function decideDeletion(group: KubeObject, profile: GroupInputs['profile']): Decision | undefined {
  if (profile !== undefined && isOwnedBy(profile.object, group)) return decideProfileDeletion(group, profile);
  if (hasFinalizer(group, GROUP_FINALIZER)) return removeFinalizers([GROUP_FINALIZER, KEIKO_FINALIZER]);
  return hasFinalizer(group, KEIKO_FINALIZER) ? { action: NONE, state: notTakenOver(group) } : undefined;
}

function decideProfileDeletion(group: KubeObject, { object, decoded }: NonNullable<GroupInputs['profile']>): Decision {
  if (isDeleting(object)) return { action: NONE, state: E.isRight(decoded) ? mirroredState(decoded.right) : DELETING };
  if (hasFinalizer(group, ORPHAN_FINALIZER)) {
    const message = `Kubernetes releases ${describeProfile(object)}, which stays`;
    return { action: NONE, state: { ...DELETING, message } };
  }
  // AWS may still have a Fargate profile that keiko created and that this controller has not taken over. So keiko's
  // finalizer must keep the InstanceGroup even after the AWSFargateProfile is gone. This controller removes only its
  // own finalizer, before it deletes the AWSFargateProfile.
  const mayBeKeikos = hasFinalizer(group, KEIKO_FINALIZER) && !(E.isRight(decoded) && isInAws(decoded.right));
  if (mayBeKeikos && hasFinalizer(group, GROUP_FINALIZER)) return removeFinalizers([GROUP_FINALIZER]);
  return { action: { kind: 'deleteProfile', profile: object }, state: DELETING };
}

const removeFinalizers = (finalizers: readonly string[]): Decision => ({
  action: { kind: 'removeFinalizers', finalizers },
  state: DELETING,
});

/** Whether the AWSFargateProfile has a Fargate profile in EKS, or may have one because a create request was sent. */
const isInAws = ({ status = {} }: AWSFargateProfile): boolean =>
  status.initialization?.provisioned === true ||
  status.profileARN !== undefined ||
  status.createRequestedAt !== undefined;

/**
 * Returns the state of an InstanceGroup that keiko has begun to reconcile, and that was deleted before this controller
 * took it over.
 */
function notTakenOver(group: KubeObject): GroupState {
  const decoded = decodeFargateGroup(group);
  const { profile, role } = E.isRight(decoded)
    ? keikoNames(decoded.right.clusterName, keyOf(group))
    : { profile: undefined, role: undefined };
  const names = profile === undefined ? '' : ` ${profile}${role === undefined ? '' : ` and role ${role}`}`;
  return errorState(
    'NotTakenOver',
    `This InstanceGroup was deleted before the controller took over what keiko has made. Delete Fargate profile${names} in ` +
      `AWS if they exist. Then remove the finalizer ${KEIKO_FINALIZER} from the InstanceGroup. Or let keiko's controller ` +
      'finish the deletion',
  );
}

const hasFinalizer = ({ metadata }: KubeObject, finalizer: string): boolean =>
  metadata.finalizers?.includes(finalizer) ?? false;

export const isOwnedBy = ({ metadata }: KubeObject, owner: KubeObject): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false;
