import { CLUSTER_GROUP, CLUSTER_KIND } from '../../api/external/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import type { EventRecorder } from '../../pkg/kube/events.ts';
import { keyOf, keyText, parseKeyText } from '../../pkg/kube/paths.ts';
import type { KubeClient } from '../../pkg/kube/types.ts';
import { Controller } from '../../pkg/runtime/controller.ts';
import type { Metrics } from '../../pkg/runtime/metrics.ts';
import type { Leadership, Runnable } from '../../pkg/runtime/types.ts';
import { Workqueue } from '../../pkg/runtime/workqueue.ts';
import type { Caches } from '../caches.ts';
import { BY_CONTROL_PLANE, clusterOf, ownersOf } from '../caches.ts';
import type { Guard } from '../guard.ts';
import type { ServedSchema } from '../served-schema.ts';
import { TeardownReconciler } from './reconcile.ts';

const NAME = 'clusterteardown';
/** A pass is a few requests to the API server, and few clusters are torn down at once. */
const CONCURRENCY = 2;

export interface ClusterTeardownControllerOptions {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly guard: Guard;
  readonly schema: ServedSchema;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Deletes the profiles of a cluster that is torn down, and keeps the guard on its control plane until they are gone. */
export function clusterTeardownController(options: ClusterTeardownControllerOptions): Runnable {
  const { client, caches, guard, schema, leadership, recorder, metrics, clock, random, logger } = options;
  const { profiles, clusters, controlPlanes } = caches;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  // Each kind may be the one that was missing: whatever changes, its Cluster is looked at. A pass that finds nothing to
  // do reads caches alone.
  profiles.onChange(({ object }) => {
    for (const cluster of clusterOf(object)) queue.add(parseKeyText(cluster));
  });
  clusters.onChange(({ object }) => queue.add(keyOf(object)));
  controlPlanes.onChange(({ object }) => {
    const naming = clusters.byIndex(BY_CONTROL_PLANE, keyText(keyOf(object)));
    for (const cluster of naming.kind === 'listed' ? naming.objects : []) queue.add(keyOf(cluster));
    for (const owner of ownersOf(object)) queue.add(parseKeyText(owner));
  });
  return new Controller({
    name: NAME,
    object: { group: CLUSTER_GROUP, kind: CLUSTER_KIND },
    concurrency: CONCURRENCY,
    queue,
    reconcile: new TeardownReconciler({
      client,
      profiles,
      clusters,
      controlPlanes,
      guard,
      schema,
      leadership,
      recorder,
      clock,
    }).reconcile,
    clock,
    random,
    logger,
    metrics: metrics.controller(NAME, CONCURRENCY),
  });
}
