import * as E from 'fp-ts/lib/Either.js';
import { CLUSTER_KIND, CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { DELETION_REQUESTED_ANNOTATION, PAUSED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { hasFinalizer, isDeleting, isMoving, isRetained, hasPausedAnnotation } from '../../shared/object-state.ts';
import type { Goal } from '../model/goal-kinds.ts';
import { locationOf } from '../model/location.ts';
import { currentProfileNameOf, roleNameOf } from '../../shared/profile-names.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import { isClusterLeaving, goalForRetainedDeletion, goalForRetainedInLeavingCluster } from './retain.ts';
import { goalForMovedObject, reasonForVanishedCluster } from './cluster-move.ts';
import type { ReconcileInputs } from './inputs.ts';
import {
  clusterKey,
  unreadableReason,
  deletionTarget,
  describeMissingSource,
  findTarget,
  findTargetChange,
  provisionedIn,
  recordedTarget,
} from './target-eks-cluster.ts';

/**
 * A missing Cluster may be moving to another management cluster together with the object, so AWS stays unchanged for a
 * while. `clusterGoneFor` is the time since it was first found missing.
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
  // A Cluster that cannot be read may be paused.
  if (inputs.cluster.kind === 'unknown') return hold(unreadableReason(kindOfUnreadable(inputs), inputs.cluster));
  return isDeleting(object) ? goalForDeletion(inputs) : goalForLiveObject(inputs);
}

function goalForDeletion(inputs: ReconcileInputs): Goal {
  const { object, controlPlane } = inputs;
  const retained = goalForRetainedDeletion(inputs);
  if (retained !== undefined) return retained;
  const surplus = isRetained(object) ? 'retain' : 'delete';
  const abandonment = isClusterLeaving(inputs) ? 'removeFinalizer' : 'retain';
  const found = deletionTarget(inputs);
  if (found !== undefined) {
    const { target } = found;
    // If status is empty, the annotation `provisioned-in` and the control plane (or spec.eksCluster) must name the same
    // EKS cluster (docs/adr/0011).
    const changed = recordedTarget(object) === undefined ? findTargetChange(object, target) : undefined;
    return changed === undefined
      ? { kind: 'pursue', ...found, controlPlaneFacts: undefined, surplus, abandonment }
      : hold(changed);
  }
  if (controlPlane.kind === 'unknown') return hold(unreadableReason(CONTROL_PLANE_KIND, controlPlane));
  const location = locationOf(object);
  // Nothing was created in AWS, and there may be no control plane any more: the deletion of a Cluster can remove it
  // right after the object got its finalizer.
  if (location.kind === 'none') return { kind: 'release' };
  return hold(
    newReason('TargetUnknown', {
      ...describeMissingSource(inputs),
      provisionedIn: provisionedIn(object),
      profile: currentProfileNameOf(object),
      role: object.status?.role?.managed === false ? undefined : (object.status?.role?.name ?? roleNameOf(object)),
      abandonment,
    }),
  );
}

function goalForLiveObject(inputs: ReconcileInputs): Goal {
  const { object, cluster } = inputs;
  if (cluster.kind === 'absent') return hold(newReason('WaitingForCluster', { cluster: clusterKey(object) }));
  if (object.metadata.annotations?.[DELETION_REQUESTED_ANNOTATION] !== undefined) return { kind: 'resumeDeletion' };
  const found = findTarget(inputs);
  if (E.isLeft(found)) return hold(found.left);
  const { target, facts } = found.right;
  const changed = findTargetChange(object, target);
  if (changed !== undefined) return hold(changed);
  const retained = goalForRetainedInLeavingCluster(inputs, target);
  if (retained !== undefined) return retained;
  // An object without AWS resources only waits, because there is nothing to correct. An object without the finalizer
  // waits too: a user may have applied it again while its cluster is being deleted.
  const isBegun = locationOf(object).kind === 'known';
  if (facts.creationBlocker !== undefined && (!isBegun || !hasFinalizer(object))) return hold(facts.creationBlocker);
  return { kind: 'pursue', target, targetSource: 'controlPlane', controlPlaneFacts: facts, surplus: 'delete' };
}

const kindOfUnreadable = ({ object, controlPlane }: ReconcileInputs): string =>
  object.spec.clusterName === undefined && controlPlane.kind === 'unknown' ? CONTROL_PLANE_KIND : CLUSTER_KIND;

const hold = (reason: Reason): Goal => ({ kind: 'hold', reason });

/** In the words of Cluster API's `Paused` condition. */
function findPauses({ object, cluster }: ReconcileInputs): readonly string[] {
  return [
    ...(cluster.kind === 'found' && cluster.object.paused ? ['Cluster spec.paused is set to true'] : []),
    ...(hasPausedAnnotation(object) ? [`AWSFargateProfile has the ${PAUSED_ANNOTATION} annotation`] : []),
  ];
}
