import * as E from 'fp-ts/lib/Either.js';
import { CLUSTER_KIND, CONTROL_PLANE_KIND } from '../../../api/external/index.ts';
import { PAUSED_ANNOTATION } from '../../../api/v1beta2/index.ts';
import type { Ms } from '../../../pkg/env/clock.ts';
import { hasFinalizer, isDeleting, isMoving, isRetained, hasPausedAnnotation } from '../../shared/object-state.ts';
import type { Goal } from '../model/goal-kinds.ts';
import { noteOf, readNote } from '../../shared/note.ts';
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
  const unreadable = findUnreadableNote(inputs);
  if (unreadable !== undefined) return unreadable;
  const surplus = isRetained(object) ? 'retain' : 'delete';
  const abandonment = isClusterLeaving(inputs) ? 'removeFinalizer' : 'retain';
  const found = deletionTarget(inputs);
  if (found !== undefined) {
    const { target } = found;
    return {
      kind: 'pursue',
      target,
      targetSource: found.targetSource,
      controlPlaneFacts: undefined,
      surplus,
      abandonment,
    };
  }
  if (controlPlane.kind === 'unknown') return hold(unreadableReason(CONTROL_PLANE_KIND, controlPlane));
  const note = noteOf(object);
  // Nothing was created in AWS, and there may be no control plane any more: the deletion of a Cluster can remove it
  // right after the object got its finalizer.
  if (note.in.kind === 'none') return { kind: 'release' };
  return hold(
    newReason('TargetUnknown', {
      ...describeMissingSource(inputs),
      provisionedIn: provisionedIn(object),
      profile: currentProfileNameOf(object),
      role: note.roles.length > 0 ? note.roles.find(({ managed }) => managed !== false)?.name : roleNameOf(object),
      abandonment,
    }),
  );
}

function goalForLiveObject(inputs: ReconcileInputs): Goal {
  const { object, cluster } = inputs;
  if (cluster.kind === 'absent') return hold(newReason('WaitingForCluster', { cluster: clusterKey(object) }));
  const unreadable = findUnreadableNote(inputs);
  if (unreadable !== undefined) return unreadable;
  const found = findTarget(inputs);
  if (E.isLeft(found)) return hold(found.left);
  const { target, facts } = found.right;
  const changed = findTargetChange(object, target);
  if (changed !== undefined) return hold(changed);
  const retained = goalForRetainedInLeavingCluster(inputs, target);
  if (retained !== undefined) return retained;
  // An object without AWS resources only waits, because there is nothing to correct. An object without the finalizer
  // waits too: a user may have applied it again while its cluster is being deleted.
  // The deletion of an object goes on that had begun before `clusterctl move` or a restore.
  const { in: location, deleting } = noteOf(object);
  const mayPursue = location.kind === 'known' && (hasFinalizer(object) || deleting === true);
  if (facts.creationBlocker !== undefined && !mayPursue) return hold(facts.creationBlocker);
  return { kind: 'pursue', target, targetSource: 'controlPlane', controlPlaneFacts: facts, surplus: 'delete' };
}

/** A note that cannot be read is no absence: it may name what nothing else names. */
function findUnreadableNote({ object }: ReconcileInputs): Goal | undefined {
  const read = readNote(object);
  return read.kind === 'unreadable' ? hold(newReason('RecordUnreadable', { problem: read.problem })) : undefined;
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
