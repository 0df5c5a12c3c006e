import { CLUSTER_GROUP, CLUSTER_KIND } from '../../api/external/index.ts';
import { keyOf, parseKeyText } from '../../pkg/kube/object-key.ts';
import { Controller } from '../../pkg/runtime/controller.ts';
import { Workqueue } from '../../pkg/runtime/queue/workqueue.ts';
import type { Runnable } from '../../pkg/runtime/runnable.ts';
import { clusterOf } from '../shared/caches.ts';
import { ClusterConditionReconciler } from './reconcile.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';

const NAME = 'clusterconditions';
/** How many Clusters are reconciled at the same time. A reconcile sends at most one request to the API server. */
const CONCURRENCY = 2;

/**
 * Summarizes the AWSFargateProfiles of a Cluster in its condition FargateProfilesReady, if the Cluster lists that
 * condition in spec.availabilityGates (flag --cluster-conditions). A reconcile with nothing to do reads caches only.
 */
export function clusterConditionController(options: ControllerOptions): Runnable {
  const { caches, metrics, clock } = options;
  const { profiles, clusters } = caches;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  profiles.onChange(({ object }) => {
    for (const cluster of clusterOf(object)) queue.add(parseKeyText(cluster));
  });
  clusters.onChange(({ object }) => queue.add(keyOf(object)));
  // While Clusters are not served, reconciles do nothing. So all Clusters are enqueued once they are listed.
  clusters.onSync((isSynced) => {
    const listing = clusters.list();
    if (isSynced && listing.kind === 'listed') for (const cluster of listing.objects) queue.add(keyOf(cluster));
  });
  const { reconcile } = new ClusterConditionReconciler({ ...options, profiles, clusters });
  return new Controller({
    ...options,
    name: NAME,
    object: { group: CLUSTER_GROUP, kind: CLUSTER_KIND },
    concurrency: CONCURRENCY,
    queue,
    reconcile,
    metrics: metrics.controller(NAME),
  });
}
