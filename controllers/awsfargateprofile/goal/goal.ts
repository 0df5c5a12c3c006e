import * as E from 'fp-ts/lib/Either.js';
import type { AWSManagedControlPlane, Cluster } from '../../../api/external/index.ts';
import { CLUSTER_KIND, CONTROL_PLANE_KIND, isAWSManagedControlPlane } from '../../../api/external/index.ts';
import type { AWSFargateProfile } from '../../../api/v1beta2/index.ts';
import { DELETION_REQUESTED_ANNOTATION, PAUSED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { defaultEksClusterName } from '../../../pkg/fargate/names.ts';
import { privateSubnets } from '../../../pkg/fargate/subnets.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import { isElsewhere } from '../../shared/control-plane-reference.ts';
import {
  hasFinalizer,
  hasPausedAnnotation,
  isDeleting,
  isDeletingForGood,
  isMoving,
  isRetained,
} from '../../shared/object-state.ts';
import type { ReconcileInputs } from './inputs.ts';
import type { Goal, Target, TargetSource } from '../model/goal-kinds.ts';
import type { Reason } from '../reasons/reasons.ts';
import { newReason } from '../reasons/reasons.ts';
import type { KnownLocation } from '../model/location.ts';
import { locationOf, formatLocation } from '../model/location.ts';

/**
 * How long the controller changes nothing in AWS after a Cluster has vanished. `clusterctl move` deletes the objects of a
 * cluster one after the other, within a second or two.
 */
const MOVE_PATIENCE: Ms = 30_000;

/**
 * Decides the goal of a pass over an object. `clusterGoneFor` is the time since the Cluster was first found missing. The
 * Cluster may be moving to another management cluster together with the object, so AWS stays unchanged for a while.
 */
export function goalFor(inputs: ReconcileInputs, clusterGoneFor?: Ms): Goal {
  const goal = goalNow(inputs);
  if (goal.kind !== 'pursue' || clusterGoneFor === undefined || clusterGoneFor >= MOVE_PATIENCE) return goal;
  const facts = { cluster: clusterKey(inputs.object), remaining: MOVE_PATIENCE - clusterGoneFor };
  return hold(newReason('ClusterVanished', facts));
}

/** The goal of a pass over an object, not considering for how long the Cluster has been missing. */
function goalNow(inputs: ReconcileInputs): Goal {
  const { object } = inputs;
  if (isDeleting(object) && !hasFinalizer(object)) return { kind: 'ignore' };
  const paused = findPauses(inputs);
  if (isMoving(object)) return goalForMovedObject(inputs, paused.length > 0);
  if (paused.length > 0) return { kind: 'paused', by: paused };
  // A deletion needs the Cluster only to know whether the Cluster is paused. A Cluster that cannot be read may be paused, so
  // the deletion waits.
  if (inputs.cluster.kind === 'unknown')
    return hold(newReason('WaitingForAPI', { kind: 'Cluster', reason: inputs.cluster.reason }));
  return isDeleting(object) ? goalForDeletion(inputs) : goalForLiveObject(inputs, inputs.cluster);
}

/**
 * The goal for an object that `clusterctl move` has marked for deletion here. A move pauses the Cluster first and deletes its
 * objects before the Cluster. So the mark is left over if the Cluster exists and is not paused.
 */
function goalForMovedObject({ object, cluster }: ReconcileInputs, isPaused: boolean): Goal {
  const isLeftOver = cluster.kind === 'found' && !isMoving(cluster.object) && !isPaused;
  return isLeftOver ? hold(newReason('MoveAbandoned', { cluster: clusterKey(object) })) : { kind: 'ignore' };
}

/**
 * The causes for which the object is paused, in the words of Cluster API's `Paused` condition; empty if it is not paused.
 */
function findPauses({ object, cluster }: ReconcileInputs): readonly string[] {
  return [
    ...(cluster.kind === 'found' && cluster.object.paused ? ['Cluster spec.paused is set to true'] : []),
    ...(hasPausedAnnotation(object) ? [`AWSFargateProfile has the ${PAUSED_ANNOTATION} annotation`] : []),
  ];
}

function goalForDeletion(inputs: ReconcileInputs): Goal {
  const { object, controlPlane } = inputs;
  const surplus = isRetained(object) ? 'retain' : 'delete';
  if (surplus === 'retain' && !isClusterLeaving(inputs)) {
    // If the Cluster is being deleted, only the control plane tells whether an EKS cluster is left to delete.
    return controlPlane.kind === 'unknown' && isClusterDeleted(inputs)
      ? hold(controlPlanesUnreadable(controlPlane.reason))
      : { kind: 'release' };
  }
  const found = deletionTarget(inputs);
  if (found !== undefined) {
    const { target } = found;
    const abandonment = isClusterLeaving(inputs) ? 'removeFinalizer' : 'retain';
    // If status is empty, the annotation `provisioned-in` is compared with the control plane, but is never used as the
    // target: docs/adr/0011.
    const changed = recordedTarget(object) === undefined ? findTargetChange(object, target) : undefined;
    return changed === undefined
      ? { kind: 'pursue', ...found, controlPlaneFacts: undefined, surplus, abandonment }
      : hold(changed);
  }
  if (controlPlane.kind === 'unknown') return hold(controlPlanesUnreadable(controlPlane.reason));
  const location = locationOf(object);
  // Without a control plane and with location `none`, nothing is in AWS: a cluster teardown can remove the control plane
  // right after the object got its finalizer.
  if (location.kind === 'none') return { kind: 'release' };
  const provisionedIn = location.kind === 'known' ? formatLocation(location) : undefined;
  return hold(newReason('TargetUnknown', { missing: describeMissingSource(inputs), provisionedIn }));
}

/** Names the missing object or field without which the region and the EKS cluster are not known. */
function describeMissingSource({ object, cluster, controlPlane }: ReconcileInputs): string {
  if (cluster.kind !== 'found') return `Cluster ${clusterKey(object)} does not exist`;
  return controlPlane.kind === 'found'
    ? `${CONTROL_PLANE_KIND} ${keyText(keyOf(controlPlane.object))} has no spec.region`
    : `Cluster ${clusterKey(object)} has no ${CONTROL_PLANE_KIND}`;
}

/**
 * The region, EKS cluster and identity recorded in status. If the control plane names the same region and EKS cluster, the
 * identity that the control plane names is used instead, because the user may have corrected it.
 */
function deletionTarget({
  object,
  controlPlane,
}: ReconcileInputs): { readonly target: Target; readonly targetSource: TargetSource } | undefined {
  const recorded = recordedTarget(object);
  const named = controlPlane.kind === 'found' ? targetOf(object, controlPlane.object) : undefined;
  const isSame = recorded === undefined || (named !== undefined && changedField(recorded, named) === undefined);
  if (!isSame) return { target: recorded, targetSource: 'record' };
  // Cluster API Provider AWS leaves a control plane ready while the control plane is being deleted.
  const isReady = controlPlane.kind === 'found' && controlPlane.object.ready;
  return named && { target: named, targetSource: isReady ? 'controlPlane' : 'unreadyControlPlane' };
}

/**
 * Whether the EKS cluster is going to be deleted, which EKS refuses as long as the cluster has profiles: the control plane is
 * being deleted, or Cluster API deletes the control plane after it has drained the workers of the deleted Cluster.
 */
function isClusterLeaving(inputs: ReconcileInputs): boolean {
  const { controlPlane } = inputs;
  if (controlPlane.kind !== 'found' || isMoving(controlPlane.object)) return false;
  return isDeleting(controlPlane.object) || isClusterDeleted(inputs);
}

/** Whether the Cluster is being deleted, and not by `clusterctl move`. */
const isClusterDeleted = ({ cluster }: ReconcileInputs): boolean =>
  cluster.kind === 'found' && isDeletingForGood(cluster.object);

function goalForLiveObject(
  inputs: ReconcileInputs,
  cluster: Exclude<ReconcileInputs['cluster'], { kind: 'unknown' }>,
): Goal {
  const { object } = inputs;
  if (cluster.kind === 'absent') return hold(newReason('WaitingForCluster', { cluster: clusterKey(object) }));
  if (object.metadata.annotations?.[DELETION_REQUESTED_ANNOTATION] !== undefined) return { kind: 'resumeDeletion' };
  const found = targetWithControlPlane(inputs, cluster.object);
  if (E.isLeft(found)) return hold(found.left);
  const { target, controlPlane } = found.right;
  const changed = findTargetChange(object, target);
  if (changed !== undefined) return hold(changed);
  const creationBlocker = findCreationBlocker(object, cluster.object, controlPlane);
  // If creation is blocked, an object with nothing in AWS is held, because there is nothing to correct. An object without
  // this controller's finalizer is held too: a user may have applied the object again, and the object must not join a
  // cluster that is being deleted.
  const isBegun = locationOf(object).kind === 'known';
  if (isClusterLeaving(inputs) && isRetained(object) && hasFinalizer(object) && (isBegun || isDeleting(controlPlane))) {
    return {
      kind: 'pursue',
      target,
      targetSource: 'controlPlane',
      controlPlaneFacts: undefined,
      surplus: 'retain',
      abandonment: 'removeFinalizer',
    };
  }
  if (creationBlocker !== undefined && (!isBegun || !hasFinalizer(object))) return hold(creationBlocker);
  return {
    kind: 'pursue',
    target,
    targetSource: 'controlPlane',
    controlPlaneFacts: {
      controlPlaneTags: controlPlane.additionalTags,
      privateSubnets: privateSubnets(controlPlane.subnets),
      controlPlane: keyOf(controlPlane),
      creationBlocker,
    },
    surplus: 'delete',
  };
}

/**
 * The control plane that the Cluster names, with the region and EKS cluster that it gives. Returns Left with the reason for
 * which there is none yet.
 */
function targetWithControlPlane(
  { object, controlPlane }: ReconcileInputs,
  cluster: Cluster,
): E.Either<Reason, { readonly target: Target; readonly controlPlane: AWSManagedControlPlane }> {
  const reference = cluster.controlPlaneRef;
  if (reference === undefined)
    return E.left(controlPlaneMissing(`Cluster ${clusterKey(object)} has no spec.controlPlaneRef yet`));
  if (!isAWSManagedControlPlane(reference)) {
    return E.left(newReason('ControlPlaneUnsupported', { cluster: clusterKey(object), kind: reference.kind }));
  }
  if (isElsewhere(cluster, reference)) {
    const facts = { cluster: clusterKey(object), namespace: cluster.metadata.namespace, named: reference.namespace };
    return E.left(newReason('ControlPlaneElsewhere', facts));
  }
  if (controlPlane.kind === 'unknown') return E.left(controlPlanesUnreadable(controlPlane.reason));
  const key = keyText(reference);
  if (controlPlane.kind === 'absent') {
    return E.left(
      isDeleting(cluster)
        ? clusterDeletingReason(object)
        : controlPlaneMissing(`${CONTROL_PLANE_KIND} ${key} does not exist yet`),
    );
  }
  const target = targetOf(object, controlPlane.object);
  return target === undefined
    ? E.left(controlPlaneMissing(`${CONTROL_PLANE_KIND} ${key} has no spec.region yet`))
    : E.right({ target, controlPlane: controlPlane.object });
}

/**
 * The reason for which nothing may be created now; `undefined` if there is none. Existing profiles and roles are corrected
 * and deleted all the same.
 */
function findCreationBlocker(
  object: AWSFargateProfile,
  cluster: Cluster,
  controlPlane: AWSManagedControlPlane,
): Reason | undefined {
  const named = `${CONTROL_PLANE_KIND} ${keyText(keyOf(controlPlane))}`;
  if (isDeleting(cluster)) return clusterDeletingReason(object);
  if (isDeleting(controlPlane)) return newReason('ClusterDeleting', { what: named });
  return controlPlane.ready
    ? undefined
    : newReason('WaitingForEKSControlPlane', { detail: `${named} is not ready yet` });
}

function targetOf(object: AWSFargateProfile, controlPlane: AWSManagedControlPlane): Target | undefined {
  const { region, metadata } = controlPlane;
  if (region === undefined) return undefined;
  return {
    clusterName: object.spec.clusterName,
    eksCluster: controlPlane.eksClusterName ?? defaultEksClusterName(metadata.name, metadata.namespace),
    region,
    identity: controlPlane.identityRef,
  };
}

/** The region, EKS cluster and identity in status, where they are written before the first change in AWS. */
function recordedTarget(object: AWSFargateProfile): Target | undefined {
  const { region, eksClusterName, identityRef } = object.status ?? {};
  if (region === undefined || eksClusterName === undefined) return undefined;
  const { kind, name } = identityRef ?? {};
  return {
    clusterName: object.spec.clusterName,
    eksCluster: eksClusterName,
    region,
    identity: kind === undefined || name === undefined ? undefined : { kind, name },
  };
}

/**
 * The reason to stop if the control plane names another region or EKS cluster than status or the annotation
 * `provisioned-in`.
 */
function findTargetChange(object: AWSFargateProfile, found: Target): Reason | undefined {
  const location = locationOf(object);
  const changed = location.kind === 'known' ? changedField(location, found) : undefined;
  if (changed === undefined) return undefined;
  const saidBy = recordedTarget(object) === undefined ? 'annotation' : 'status';
  return newReason('TargetChanged', { ...changed, saidBy });
}

function changedField(
  recorded: Pick<KnownLocation, 'region' | 'eksCluster'>,
  found: Target,
): { readonly field: string; readonly recorded: string; readonly found: string } | undefined {
  if (recorded.region !== found.region) {
    return { field: 'spec.region', recorded: recorded.region, found: found.region };
  }
  return recorded.eksCluster === found.eksCluster
    ? undefined
    : { field: 'spec.eksClusterName', recorded: recorded.eksCluster, found: found.eksCluster };
}

const hold = (reason: Reason): Goal => ({ kind: 'hold', reason });
const controlPlanesUnreadable = (reason: string): Reason =>
  newReason('WaitingForAPI', { kind: CONTROL_PLANE_KIND, reason });
const controlPlaneMissing = (detail: string): Reason => newReason('WaitingForEKSControlPlane', { detail });
const clusterDeletingReason = (object: AWSFargateProfile): Reason =>
  newReason('ClusterDeleting', { what: `${CLUSTER_KIND} ${clusterKey(object)}` });
const clusterKey = ({ metadata, spec }: AWSFargateProfile): string => `${metadata.namespace}/${spec.clusterName}`;
