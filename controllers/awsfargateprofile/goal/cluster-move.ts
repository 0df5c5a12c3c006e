import type { Ms } from '../../../pkg/env/clock.ts';
import { keyOf, keyText } from '../../../pkg/kube/object-key.ts';
import { isDeleting, isMoving } from '../../shared/object-state.ts';
import type { Goal } from '../model/goal-kinds.ts';
import { type Reason, newReason } from '../reasons/reasons.ts';
import type { ReconcileInputs } from './inputs.ts';
import { clusterKey } from './target-eks-cluster.ts';

/**
 * How long AWS stays unchanged after a Cluster has vanished. `clusterctl move` copies a Cluster and its objects to
 * another management cluster, and then deletes all of them here within a second or two.
 */
const MOVE_PATIENCE: Ms = 30_000;

/**
 * `clusterGoneFor`: since the Cluster was first found missing; `undefined` if it exists, the cache cannot tell, or the
 * object has none.
 */
export function reasonForVanishedCluster(
  { object }: ReconcileInputs,
  clusterGoneFor: Ms | undefined,
): Reason | undefined {
  if (clusterGoneFor === undefined || clusterGoneFor >= MOVE_PATIENCE) return undefined;
  return newReason('ClusterVanished', { cluster: clusterKey(object), remaining: MOVE_PATIENCE - clusterGoneFor });
}

/**
 * A move pauses the Cluster first and deletes its objects before it. So if the Cluster exists and is not paused, the
 * mark on the object is left over from a failed move.
 */
export function goalForMovedObject({ object, cluster }: ReconcileInputs, isPaused: boolean): Goal {
  const isLeftOver = cluster.kind === 'found' && !isMoving(cluster.object) && !isPaused;
  // Without a Cluster to look at: clusterctl deletes an object right after it has marked it.
  const isAlone = cluster.kind === 'none' && !isDeleting(object) && !isPaused;
  if (!isLeftOver && !isAlone) return { kind: 'ignore' };
  const reason = newReason(
    'MoveAbandoned',
    cluster.kind === 'found' ? { cluster: keyText(keyOf(cluster.object)) } : {},
  );
  return { kind: 'hold', reason };
}
