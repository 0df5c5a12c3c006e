import type { Store } from 'controller-runtime/cache';
import { keyOf, keyText, type KubeObject, parseKeyText } from 'controller-runtime/client';
import { Controller } from 'controller-runtime/controller';
import { fieldAt, jsonEqual } from 'controller-runtime/json';
import type { Runnable } from 'controller-runtime/manager';
import { Workqueue } from 'controller-runtime/queue';
import { CLUSTER_GROUP, CLUSTER_KIND } from '../../api/external/index.ts';
import {
  type Caches,
  BY_CONTROL_PLANE,
  BY_EKS_CLUSTER,
  clusterOf,
  controlPlaneOf,
  eksClusterOf,
  ownersOf,
} from '../shared/caches.ts';
import type { ControlPlaneAccounts } from '../shared/control-plane/control-plane-accounts.ts';
import type { ControlPlaneFinalizer } from '../shared/control-plane/control-plane-finalizer.ts';
import { TeardownReconciler } from './reconcile.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';

const NAME = 'clusterteardown';
/** One tenant can use at most half of the slots. */
const SLOTS = { group: 5, namespace: 5, total: 10 };

interface ClusterTeardownControllerOptions extends ControllerOptions {
  readonly controlPlaneFinalizer: ControlPlaneFinalizer;
  readonly managerRegion: string | undefined;
  readonly accounts: ControlPlaneAccounts;
}

export function clusterTeardownController(options: ClusterTeardownControllerOptions): Runnable {
  const { caches, metrics, clock } = options;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME), slots: SLOTS });
  enqueueOnChange(queue, caches);
  const { clusterResource } = caches;
  return new Controller({
    ...options,
    name: NAME,
    object: { group: CLUSTER_GROUP, kind: CLUSTER_KIND },
    concurrency: SLOTS.total,
    queue,
    reconcile: new TeardownReconciler({ ...options, ...caches.typed, clusterResource }).reconcile,
    metrics: metrics.controller(NAME),
  });
}

/** Returns the fields whose changes can matter to the teardown. Most status fields do not matter. */
const teardownFields = ({ metadata, spec, status }: KubeObject): unknown => ({
  ...metadata,
  resourceVersion: undefined,
  spec,
  account: fieldAt(status, 'account'),
  region: fieldAt(status, 'region'),
});

/**
 * Enqueues a Cluster whenever an object changes that its teardown might be waiting for. This is cheap, because a
 * reconcile with nothing to do reads only from caches.
 */
function enqueueOnChange(queue: Workqueue, { profiles, clusters, controlPlanes }: Caches): void {
  const listed = (listing: ReturnType<Store['byIndex']>): readonly KubeObject[] =>
    listing.kind === 'listed' ? listing.objects : [];
  const enqueueClustersOf = (controlPlane: KubeObject): void => {
    for (const cluster of listed(clusters.byIndex(BY_CONTROL_PLANE, keyText(keyOf(controlPlane)))))
      queue.add(keyOf(cluster));
    for (const owner of ownersOf(controlPlane)) queue.add(parseKeyText(owner));
  };
  profiles.onChange((change) => {
    const { object } = change;
    if (change.type === 'updated' && jsonEqual(teardownFields(change.previous), teardownFields(object))) return;
    for (const cluster of clusterOf(object)) queue.add(parseKeyText(cluster));
    for (const key of eksClusterOf(object))
      for (const controlPlane of listed(controlPlanes.byIndex(BY_EKS_CLUSTER, key))) enqueueClustersOf(controlPlane);
  });
  clusters.onChange((change) => {
    const { object } = change;
    queue.add(keyOf(object));
    for (const each of change.type === 'updated' ? [object, change.previous] : [object])
      for (const key of controlPlaneOf(each)) {
        const found = controlPlanes.lookup(parseKeyText(key));
        if (found.kind === 'found') enqueueClustersOf(found.object);
      }
  });
  controlPlanes.onChange(({ object }) => enqueueClustersOf(object));
}
