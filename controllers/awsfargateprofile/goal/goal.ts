import type { Abandonment } from '../reasons/wording.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import {
  type CreationFacts,
  type Target,
  type TargetSource,
  clusterKey,
  unreadableReason,
  deletionTarget,
  describeMissingSource,
  findTarget,
  findTargetChange,
} from './target.ts';
import * as E from 'fp-ts/lib/Either.js';
import { keyOf, keyText } from 'controller-runtime/client';
import type { Ms } from 'controller-runtime/env';
import type { ObjectMeta } from 'controller-runtime/schema';
import { CLUSTER_KIND, CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { PAUSED_ANNOTATION, type AWSFargateProfile, RETAIN_ANNOTATION } from '../../../api/v1beta2/index.ts';
import {
  hasFinalizer,
  isDeleting,
  isMoving,
  isRetained,
  hasPausedAnnotation,
  isDeletingForGood,
  isStatusLost,
} from '../../shared/object-state.ts';
import {
  formatLocation,
  isNeverBegun,
  locationOf,
  managedRolesIn,
  readRecord,
  recordOf,
  reportedLocationOf,
} from '../../shared/record.ts';
import { currentProfileNameOf, roleNameOf } from '../../shared/profile-names.ts';
import type { ReconcileInputs } from './inputs.ts';

export type PursueGoal = Extract<Goal, { kind: 'pursue' }>;

export type Goal =
  /** The object is being deleted and lacks the finalizer, or `clusterctl move` is moving it away. */
  | { readonly kind: 'ignore' }
  /** `by` lists the causes in the words of Cluster API's `Paused` condition. */
  | { readonly kind: 'paused'; readonly by: readonly string[] }
  /** AWS is neither read nor changed. */
  | { readonly kind: 'hold'; readonly reason: Reason }
  /** The finalizer is removed without a call to AWS, because nothing was created there or deletionPolicy is Retain. */
  | { readonly kind: 'release' }
  /**
   * `creationFacts` is `undefined` if nothing is desired: the object is being deleted, or its EKS cluster is being
   * deleted and deletionPolicy is Retain.
   */
  | {
      readonly kind: 'pursue';
      readonly target: Target;
      readonly targetSource: TargetSource;
      readonly creationFacts: CreationFacts | undefined;
      readonly unwanted: UnwantedPolicy;
      /** Whether nothing is desired, and the EKS cluster is being deleted too. */
      readonly isLeavingWithCluster: boolean;
      readonly abandonment?: Abandonment | undefined;
    };

/** Whether the controller deletes its profiles and roles that the spec does not describe. */
export type UnwantedPolicy = 'delete' | 'retain';

/**
 * A missing Cluster may be moving to another management cluster together with the object, so AWS stays unchanged for a
 * while. `clusterGoneFor` is the time since the Cluster was first found missing.
 */
export function goalFor(inputs: ReconcileInputs, clusterGoneFor?: Ms): Goal {
  const goal = goalNow(inputs);
  const reason = goal.kind === 'pursue' ? reasonForVanishedCluster(inputs, clusterGoneFor) : undefined;
  return reason === undefined ? goal : hold(reason);
}

function goalNow(inputs: ReconcileInputs): Goal {
  const { object } = inputs;
  if (isDeleting(object) && !hasFinalizer(object)) return { kind: 'ignore' };
  const paused = findPauses(inputs);
  if (isMoving(object)) return goalForMovedObject(inputs, paused.length > 0);
  if (paused.length > 0) return { kind: 'paused', by: paused };
  // A Cluster that cannot be read may be paused, so nothing is changed in AWS.
  if (inputs.cluster.kind === 'unknown') return hold(unreadableReason(kindOfUnreadable(inputs), inputs.cluster));
  return isDeleting(object) ? goalForDeletion(inputs) : goalForLiveObject(inputs);
}

function goalForDeletion(inputs: ReconcileInputs): Goal {
  const { object, controlPlane } = inputs;
  const retained = goalForRetainedDeletion(inputs);
  if (retained !== undefined) return retained;
  const found = deletionTarget(inputs);
  const unreadable =
    findUnreadableRecord(inputs) ?? (found?.targetSource === 'record' ? findContradictoryRecord(object) : undefined);
  if (unreadable !== undefined) return unreadable;
  const unwanted = isRetained(object) ? 'retain' : 'delete';
  if (found !== undefined) return leave(inputs, found.target, found.targetSource, unwanted);
  if (controlPlane.kind === 'unknown') return hold(unreadableReason(CONTROL_PLANE_KIND, controlPlane));
  const record = recordOf(object);
  // Nothing was created in AWS, and the control plane may not exist anymore: the deletion of a Cluster can remove it
  // right after the object got its finalizer.
  if (isNeverBegun(object)) return { kind: 'release' };
  return hold(
    newReason('TargetUnknown', {
      ...describeMissingSource(inputs),
      profile: currentProfileNameOf(object),
      role: record.roles.length > 0 ? managedRolesIn(record)[0]?.name : roleNameOf(object),
      abandonment: abandonmentFor(inputs),
    }),
  );
}

function goalForLiveObject(inputs: ReconcileInputs): Goal {
  const { object, cluster } = inputs;
  if (cluster.kind === 'absent') {
    const isMoved = recordOf(object).deleting === true && isStatusLost(object);
    return hold(newReason('WaitingForCluster', { cluster: clusterKey(object), ...(isMoved && { isMoved }) }));
  }
  const unreadable = findUnreadableRecord(inputs);
  if (unreadable !== undefined) return unreadable;
  const found = findTarget(inputs);
  if (E.isLeft(found)) return hold(found.left);
  const { target, facts } = found.right;
  const changed = findTargetChange(object, target);
  if (changed !== undefined) return hold(changed);
  const retained = goalForRetainedInLeavingCluster(inputs, target);
  if (retained !== undefined) return retained;
  // While creation is blocked, an object without AWS resources only waits, because there is nothing to correct.
  if (facts.creationBlocker !== undefined && !isBegunHere(object)) return hold(facts.creationBlocker);
  return {
    kind: 'pursue',
    target,
    targetSource: 'controlPlane',
    creationFacts: facts,
    unwanted: 'delete',
    isLeavingWithCluster: false,
  };
}

/**
 * Whether the object has something in AWS that must not be lost, although another client may have removed the finalizer.
 * A record without the finalizer may be a copy: a user may have applied the object again, or restored it into another
 * management cluster. Status cannot be applied, and survives a client that replaces the object.
 */
const isBegunHere = (object: AWSFargateProfile): boolean =>
  locationOf(object).kind === 'known' &&
  (hasFinalizer(object) || recordOf(object).deleting === true || reportedLocationOf(object).kind === 'known');

/** An unreadable record may contain facts that are known from nowhere else, so the object waits. */
function findUnreadableRecord({ object }: ReconcileInputs): Goal | undefined {
  const read = readRecord(object);
  return read.kind === 'unreadable' ? hold(newReason('RecordUnreadable', { problem: read.problem })) : undefined;
}

/**
 * Another client may have restored the record of an earlier object with this name. A deletion in the recorded location
 * would then leave the profile in the location that status shows, and remove the finalizer.
 */
function findContradictoryRecord(object: AWSFargateProfile): Goal | undefined {
  const recorded = locationOf(object);
  const reported = reportedLocationOf(object);
  if (recorded.kind !== 'known' || reported.kind !== 'known') return undefined;
  const [there, here] = [formatLocation(recorded), formatLocation(reported)];
  return there === here
    ? undefined
    : hold(
        newReason('RecordUnreadable', {
          problem: `names ${there}, but status names ${here} (account/region/EKS cluster)`,
          place: here,
        }),
      );
}

const kindOfUnreadable = ({ object, controlPlane }: ReconcileInputs): string =>
  object.spec.clusterName === undefined && controlPlane.kind === 'unknown' ? CONTROL_PLANE_KIND : CLUSTER_KIND;

const hold = (reason: Reason): Goal => ({ kind: 'hold', reason });

const leave = (
  inputs: ReconcileInputs,
  target: Target,
  targetSource: TargetSource,
  unwanted: UnwantedPolicy,
): PursueGoal => ({
  kind: 'pursue',
  target,
  targetSource,
  creationFacts: undefined,
  unwanted,
  isLeavingWithCluster: isClusterLeaving(inputs),
  abandonment: abandonmentFor(inputs),
});

const abandonmentFor = (inputs: ReconcileInputs): Abandonment =>
  isClusterLeaving(inputs) ? 'removeFinalizer' : 'retain';

/** Returns the causes in the words of Cluster API's `Paused` condition. */
function findPauses({ object, cluster }: ReconcileInputs): readonly string[] {
  return [
    ...(cluster.kind === 'found' && cluster.object.paused ? ['Cluster spec.paused is set to true'] : []),
    ...(hasPausedAnnotation(object) ? [`AWSFargateProfile has the ${PAUSED_ANNOTATION} annotation`] : []),
  ];
}

/**
 * How long AWS stays unchanged after a Cluster has vanished. `clusterctl move` copies a Cluster and its objects to
 * another management cluster, and then deletes all of them here within a second or two.
 */
const MOVE_PATIENCE: Ms = 30_000;

/**
 * `clusterGoneFor` is the time since the Cluster was first found missing. It is `undefined` if the Cluster exists, if
 * the cache does not know, or if the object has none.
 */
function reasonForVanishedCluster({ object }: ReconcileInputs, clusterGoneFor: Ms | undefined): Reason | undefined {
  if (clusterGoneFor === undefined || clusterGoneFor >= MOVE_PATIENCE) return undefined;
  return newReason('ClusterVanished', { cluster: clusterKey(object), remaining: MOVE_PATIENCE - clusterGoneFor });
}

/**
 * `clusterctl move` first pauses the Cluster, and deletes the Cluster's objects before the Cluster. So if the Cluster
 * exists and is not paused, clusterctl's mark on the object is left over from a failed move.
 */
function goalForMovedObject({ object, cluster }: ReconcileInputs, isPaused: boolean): Goal {
  const isLeftOver = cluster.kind === 'found' && !isMoving(cluster.object) && !isPaused;
  // Without a Cluster, clusterctl's mark on an object that is not being deleted is left over, because clusterctl
  // deletes an object right after it has marked it.
  const isAlone = cluster.kind === 'none' && !isDeleting(object) && !isPaused;
  if (!isLeftOver && !isAlone) return { kind: 'ignore' };
  const reason = newReason(
    'MoveAbandoned',
    cluster.kind === 'found' ? { cluster: keyText(keyOf(cluster.object)) } : {},
  );
  return hold(reason);
}

/** Whether the EKS cluster is being deleted, or will be once Cluster API has drained the deleted Cluster's workers. */
export function isClusterLeaving(inputs: ReconcileInputs): boolean {
  const { controlPlane } = inputs;
  if (controlPlane.kind !== 'found' || isMoving(controlPlane.object)) return false;
  return isDeleting(controlPlane.object) || isClusterDeleted(inputs);
}

/** If the namespace is being deleted, the Cluster will be deleted too, maybe after the object. */
const isClusterDeleted = ({ cluster, isNamespaceTerminating = false }: ReconcileInputs): boolean =>
  isNamespaceTerminating || (cluster.kind === 'found' && isDeletingForGood(cluster.object));

// With `deletionPolicy: Retain`, the profile and its role stay in AWS when their object is deleted. But EKS does not
// delete a cluster that has Fargate profiles. So while the EKS cluster is being deleted, the object stays until its
// profile is gone.

function goalForRetainedDeletion(inputs: ReconcileInputs): Goal | undefined {
  const { object, controlPlane } = inputs;
  if (!isRetained(object) || isClusterLeaving(inputs)) return undefined;
  // Only the control plane shows whether there is still an EKS cluster to delete.
  return controlPlane.kind === 'unknown' && isClusterDeleted(inputs)
    ? hold(unreadableReason(CONTROL_PLANE_KIND, controlPlane))
    : { kind: 'release' };
}

/**
 * With `deletionPolicy: Retain`, the controller changes nothing in AWS, but reports that the profile blocks the
 * deletion of the EKS cluster. Without a recorded location, this begins only when the control plane itself is being
 * deleted.
 */
function goalForRetainedInLeavingCluster(inputs: ReconcileInputs, target: Target): Goal | undefined {
  const { object, controlPlane } = inputs;
  const isBegun = locationOf(object).kind === 'known';
  const isControlPlaneGoing = controlPlane.kind === 'found' && isDeleting(controlPlane.object);
  const isKept = isRetained(object) && hasFinalizer(object) && isClusterLeaving(inputs);
  return isKept && (isBegun || isControlPlaneGoing) ? leave(inputs, target, 'controlPlane', 'retain') : undefined;
}

/**
 * An annotation repeats `spec.deletionPolicy: Retain`, because an API server with another provider's CRD drops the
 * field. For the same reason, a missing field does not remove the annotation. If the annotation is lost too, the policy
 * in status decides.
 */
export function withRetain(object: AWSFargateProfile): ObjectMeta['annotations'] {
  const { annotations } = object.metadata;
  if (isRetained(object)) return { ...annotations, [RETAIN_ANNOTATION]: annotations?.[RETAIN_ANNOTATION] ?? 'true' };
  const { [RETAIN_ANNOTATION]: _over, ...others } = annotations ?? {};
  return annotations && others;
}
