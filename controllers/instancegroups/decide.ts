import * as E from 'fp-ts/lib/Either.js';
import type { TypedEntry } from 'controller-runtime/cache';
import { keyOf, type KubeObject } from 'controller-runtime/client';
import type { UnknownRecord } from 'controller-runtime/json';
import { describeProblems } from 'controller-runtime/schema';
import type { FargateGroup } from '../../api/external/index.ts';
import { FARGATE_PROVISIONER, KEIKO_FINALIZER, decodeFargateGroup, isFargateGroup } from '../../api/external/index.ts';
import type { AWSFargateProfile, AWSFargateProfileSpec } from '../../api/v1beta2/index.ts';
import { keikoNames } from '../../pkg/fargate/keiko-names.ts';
import { hasPausedAnnotation, isDeleting, isMoving } from '../shared/object-state.ts';
import type { GroupState } from './group-state.ts';
import {
  deletedElsewhere,
  describeProfile,
  doesNotFollow,
  errorState,
  mirroredState,
  nameTaken,
  plainState,
} from './group-state.ts';
import { findStrategyProblem, profileSpec, profileSpecPatch } from './profile-spec.ts';

/** One reconcile makes this change in addition to the InstanceGroup's status. */
export type Action =
  | { readonly kind: 'addFinalizer' }
  | { readonly kind: 'createProfile'; readonly spec: AWSFargateProfileSpec }
  /** Makes the InstanceGroup the owner of an AWSFargateProfile without owner, for example after a restore. */
  | { readonly kind: 'claimProfile'; readonly profile: KubeObject }
  | { readonly kind: 'updateProfile'; readonly profile: KubeObject; readonly patch: UnknownRecord }
  | { readonly kind: 'deleteProfile'; readonly profile: KubeObject }
  | { readonly kind: 'removeFinalizers'; readonly finalizers: readonly string[] };

interface Decision {
  /** If undefined, the reconcile changes only the status. */
  readonly action?: Action;
  readonly state: GroupState;
}

/** The AWSFargateProfile has the InstanceGroup's namespace and name. */
export interface GroupInputs {
  readonly group: KubeObject;
  readonly profile: TypedEntry<AWSFargateProfile> | undefined;
  /** This manager's watch filter, if the AWSFargateProfile lacks it: its changes then trigger no reconcile. */
  readonly otherThan?: string;
}

const DELETING = plainState('Deleting', 'The AWSFargateProfile is being deleted');
/** The provisioner is not eks-fargate, and this controller has deleted everything it created for the InstanceGroup. */
const LEFT_TO_KEIKO = plainState(
  'Deleting',
  `The AWSFargateProfile is deleted. The finalizer ${KEIKO_FINALIZER} remains, because keiko may have created other resources for this InstanceGroup`,
);
const CREATING = plainState('InitCreate', 'The AWSFargateProfile does not exist yet');
const stay = (state: GroupState): Decision => ({ state });

/** Includes an InstanceGroup whose provisioner was eks-fargate before: it still has this controller's finalizer. */
export const isReconciled = (group: KubeObject): boolean =>
  isFargateGroup(group) || hasFinalizer(group, GROUP_FINALIZER);

/**
 * Returns `undefined` if this controller must not change the InstanceGroup:
 * - It is paused or being moved.
 * - Its provisioner is not eks-fargate, and it has neither this controller's finalizer nor an AWSFargateProfile.
 * - It is being deleted, owns no AWSFargateProfile, and has neither this controller's finalizer nor keiko's.
 */
export function decide(inputs: GroupInputs): Decision | undefined {
  const { group, profile } = inputs;
  if (hasPausedAnnotation(group) || isMoving(group)) return undefined;
  const owned = profile !== undefined && isOwnedBy(profile.object, group) ? profile.object : undefined;
  if (!isReconciled(group) && owned === undefined) return undefined;
  if (isDeleting(group)) return decideDeletion(inputs);
  return isFargateGroup(group) ? decideLife(inputs) : stay(provisionerChanged(owned));
}

/** The state if the provisioner was changed after this controller had reconciled the InstanceGroup. */
function provisionerChanged(profile: KubeObject | undefined): GroupState {
  const [kept, deleted] =
    profile === undefined
      ? ['', '']
      : [` ${describeProfile(profile)} and its Fargate profile stay as they are.`, ', which deletes both'];
  return errorState(
    'ProvisionerChanged',
    `spec.provisioner is no longer ${FARGATE_PROVISIONER}.${kept} Set spec.provisioner back to ${FARGATE_PROVISIONER}, or ` +
      `delete the InstanceGroup${deleted}`,
  );
}

function decideLife({ group, profile, otherThan }: GroupInputs): Decision {
  const decoded = decodeFargateGroup(group);
  if (E.isLeft(decoded)) {
    const kept = profile === undefined ? '' : '. The Fargate profile stays as it is';
    return stay(errorState('InvalidSpec', `${describeProblems(decoded.left)}${kept}`));
  }
  const problem = findStrategyProblem(group);
  if (problem !== undefined) return stay(errorState('InvalidSpec', problem));
  const wanted = profileSpec(group, decoded.right);
  if (profile === undefined) {
    // A finalizer must keep the InstanceGroup before the AWSFargateProfile is created, and keiko's finalizer suffices.
    // This controller's finalizer, added later, shows that the controller has taken over the InstanceGroup.
    const isKept = hasFinalizer(group, GROUP_FINALIZER) || hasFinalizer(group, KEIKO_FINALIZER);
    return { action: isKept ? { kind: 'createProfile', spec: wanted } : { kind: 'addFinalizer' }, state: CREATING };
  }
  if (!isOwnedBy(profile.object, group))
    return otherThan === undefined ? decideUnowned(profile.object, wanted) : stay(nameTaken(profile.object));
  if (!hasFinalizer(group, GROUP_FINALIZER)) return { action: { kind: 'addFinalizer' }, state: CREATING };
  if (otherThan !== undefined) return stay(doesNotFollow(profile.object, otherThan));
  return decideOwned(profile, wanted, decoded.right);
}

/** If an AWSFargateProfile has no owner, and its spec matches, the InstanceGroup becomes its owner. */
function decideUnowned(profile: KubeObject, wanted: AWSFargateProfileSpec): Decision {
  const { ownerReferences = [] } = profile.metadata;
  const patch = profileSpecPatch(profile.spec, wanted);
  if (ownerReferences.length === 0 && patch === undefined && !isDeleting(profile))
    return { action: { kind: 'claimProfile', profile }, state: CREATING };
  return stay(nameTaken(profile));
}

function decideOwned(
  { object, decoded }: NonNullable<GroupInputs['profile']>,
  wanted: AWSFargateProfileSpec,
  group: FargateGroup,
): Decision {
  const mirrored = E.isRight(decoded) ? mirroredState(decoded.right, group) : unreadable(object, decoded.left);
  if (isDeleting(object)) {
    const message = `${describeProfile(object)} is being deleted. Afterwards the controller recreates it`;
    return stay(mirrored.state === 'Error' ? mirrored : plainState('ReconcileModifying', message, 'ProfileDeleting'));
  }
  const patch = profileSpecPatch(object.spec, wanted);
  if (patch === undefined) return stay(mirrored);
  const state = plainState('InitUpdate', `${describeProfile(object)} is to be changed`);
  return { action: { kind: 'updateProfile', profile: object, patch }, state };
}

const unreadable = (profile: KubeObject, problems: Parameters<typeof describeProblems>[0]): GroupState =>
  errorState('ProfileUnreadable', `${describeProfile(profile)} cannot be read: ${describeProblems(problems)}`);

function decideDeletion({ group, profile, otherThan }: GroupInputs): Decision | undefined {
  if (profile !== undefined && isOwnedBy(profile.object, group))
    return decideProfileDeletion(group, profile, otherThan);
  if (hasFinalizer(group, GROUP_FINALIZER))
    return isFargateGroup(group)
      ? removeFinalizers([GROUP_FINALIZER, KEIKO_FINALIZER])
      : { ...removeFinalizers([GROUP_FINALIZER]), state: LEFT_TO_KEIKO };
  return hasFinalizer(group, KEIKO_FINALIZER) ? stay(notTakenOver(group)) : undefined;
}

function decideProfileDeletion(
  group: KubeObject,
  { object, decoded }: NonNullable<GroupInputs['profile']>,
  otherThan: string | undefined,
): Decision {
  if (isDeleting(object)) {
    const mirrored = E.isRight(decoded) ? mirroredState(decoded.right) : unreadable(object, decoded.left);
    const isElsewhere = otherThan !== undefined && mirrored.state !== 'Error';
    return stay(isElsewhere ? deletedElsewhere(object, otherThan) : mirrored);
  }
  if (hasFinalizer(group, ORPHAN_FINALIZER))
    return stay(
      plainState('Deleting', `${describeProfile(object)} remains, and no longer belongs to this InstanceGroup`),
    );
  // AWS may still have a keiko Fargate profile that this controller has not taken over. So keiko's finalizer must
  // outlast the AWSFargateProfile, and this controller removes only its own finalizer, before it deletes the
  // AWSFargateProfile.
  const mayBeKeikos = hasFinalizer(group, KEIKO_FINALIZER) && !(E.isRight(decoded) && isInAws(decoded.right));
  if (mayBeKeikos && hasFinalizer(group, GROUP_FINALIZER)) return removeFinalizers([GROUP_FINALIZER]);
  return { action: { kind: 'deleteProfile', profile: object }, state: DELETING };
}

const removeFinalizers = (finalizers: readonly string[]): Decision => ({
  action: { kind: 'removeFinalizers', finalizers },
  state: DELETING,
});

/** Reports whether a create request may have been sent. */
const isInAws = ({ status = {} }: AWSFargateProfile): boolean =>
  status.initialization?.provisioned === true ||
  status.profileARN !== undefined ||
  status.createRequestedAt !== undefined;

/** The state if keiko had reconciled the InstanceGroup, which was then deleted before this controller took it over. */
function notTakenOver(group: KubeObject): GroupState {
  const decoded = decodeFargateGroup(group);
  const { profile, role } = E.isRight(decoded)
    ? keikoNames(decoded.right.clusterName, keyOf(group))
    : { profile: undefined, role: undefined };
  const names = profile === undefined ? '' : ` ${profile}${role === undefined ? '' : ` and role ${role}`}`;
  return errorState(
    'NotTakenOver',
    `This InstanceGroup was deleted before the controller took over the resources that keiko created. Delete Fargate profile${names} in ` +
      `AWS if they exist. Then remove the finalizer ${KEIKO_FINALIZER} from the InstanceGroup. Or let keiko's controller ` +
      'finish the deletion',
  );
}

const hasFinalizer = ({ metadata }: KubeObject, finalizer: string): boolean =>
  metadata.finalizers?.includes(finalizer) ?? false;

export const isOwnedBy = ({ metadata }: KubeObject, owner: KubeObject): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false;

/**
 * Keeps the InstanceGroup until its AWSFargateProfile is gone. If keiko's finalizer must keep it even longer, this
 * finalizer is removed before the AWSFargateProfile is deleted.
 */
export const GROUP_FINALIZER = 'aws-fargate.cluster.x-k8s.io/instancegroup';
/**
 * An object has this finalizer after `kubectl delete --cascade=orphan`, until the garbage collector has removed its
 * dependents' owner references.
 */
const ORPHAN_FINALIZER = 'orphan';
