import { CLUSTER_GROUP, CLUSTER_KIND } from '../../api/external/index.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import { keyOf, parseKeyText } from '../../pkg/kube/object-key.ts';
import { Controller } from '../../pkg/runtime/controller.ts';
import type { Metrics } from '../../pkg/runtime/metrics.ts';
import { Workqueue } from '../../pkg/runtime/queue/workqueue.ts';
import type { Runnable } from '../../pkg/runtime/runnable.ts';
import type { Caches } from '../shared/caches.ts';
import { clusterOf } from '../shared/caches.ts';
import type { ClusterConditionOptions } from './reconcile.ts';
import { ClusterConditionReconciler } from './reconcile.ts';

const NAME = 'clusterconditions';
/** How many Clusters are reconciled at the same time. A reconcile sends at most one request to the API server. */
const CONCURRENCY = 2;

export interface ClusterConditionControllerOptions extends Omit<ClusterConditionOptions, 'profiles' | 'clusters'> {
  readonly caches: Pick<Caches, 'profiles' | 'clusters'>;
  readonly metrics: Metrics;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * The controller that summarizes the AWSFargateProfiles of a Cluster in the condition FargateProfilesReady of the
 * Cluster, if the Cluster lists the condition in spec.availabilityGates. The flag --cluster-conditions adds the
 * controller to the manager. A reconcile with nothing to do reads caches only.
 */
export function clusterConditionController(options: ClusterConditionControllerOptions): Runnable {
  const { caches, metrics, clock, random, logger } = options;
  const { profiles, clusters } = caches;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  profiles.onChange(({ object }) => {
    for (const cluster of clusterOf(object)) queue.add(parseKeyText(cluster));
  });
  clusters.onChange(({ object }) => queue.add(keyOf(object)));
  // While the API server does not serve Clusters, a reconcile that an AWSFargateProfile has started does nothing. So
  // all Clusters are enqueued once they are listed.
  clusters.onSync((isSynced) => {
    const listing = clusters.list();
    if (isSynced && listing.kind === 'listed') for (const cluster of listing.objects) queue.add(keyOf(cluster));
  });
  const { reconcile } = new ClusterConditionReconciler({ ...options, profiles, clusters });
  return new Controller({
    name: NAME,
    object: { group: CLUSTER_GROUP, kind: CLUSTER_KIND },
    concurrency: CONCURRENCY,
    queue,
    reconcile,
    clock,
    random,
    logger,
    metrics: metrics.controller(NAME),
  });
}
