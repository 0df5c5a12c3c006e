import type { Ms } from '../../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import { isDeleting, isMoving } from '../../shared/object-state.ts';
import type { Goal } from '../model/goal-kinds.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import type { ReconcileInputs } from './inputs.ts';
import { clusterKey } from './target-eks-cluster.ts';

/**
 * How long the controller changes nothing in AWS for the objects of a Cluster that has vanished from the API server.
 * `clusterctl move` copies a Cluster and its objects to another management cluster, and then deletes all of them here
 * within a second or two. So after the Cluster has vanished, the move may be about to delete its objects too.
 */
const MOVE_PATIENCE: Ms = 30_000;

/**
 * Returns the reason to wait if the Cluster has vanished only a short time ago. `clusterGoneFor` is the time since the
 * Cluster was first found missing; `undefined` if the Cluster exists, the cache cannot tell, or the object has none.
 */
export function reasonForVanishedCluster(
  { object }: ReconcileInputs,
  clusterGoneFor: Ms | undefined,
): Reason | undefined {
  if (clusterGoneFor === undefined || clusterGoneFor >= MOVE_PATIENCE) return undefined;
  return newReason('ClusterVanished', { cluster: clusterKey(object), remaining: MOVE_PATIENCE - clusterGoneFor });
}

/**
 * Returns what a reconcile does for an object that `clusterctl move` has marked for deletion in this management
 * cluster. A move pauses the Cluster first and deletes its objects before the Cluster. So if the Cluster exists and is
 * not paused, the mark is left over from a failed move.
 */
export function goalForMovedObject({ object, cluster }: ReconcileInputs, isPaused: boolean): Goal {
  const isLeftOver = cluster.kind === 'found' && !isMoving(cluster.object) && !isPaused;
  // An object with spec.eksCluster may have no Cluster that shows whether the move is over. clusterctl deletes an
  // object right after it has marked the object. So the mark on an object that is not being deleted counts as left over
  // from a failed move.
  const isAlone = cluster.kind === 'none' && !isDeleting(object) && !isPaused;
  if (!isLeftOver && !isAlone) return { kind: 'ignore' };
  const reason = newReason(
    'MoveAbandoned',
    cluster.kind === 'found' ? { cluster: keyText(keyOf(cluster.object)) } : {},
  );
  return { kind: 'hold', reason };
}
