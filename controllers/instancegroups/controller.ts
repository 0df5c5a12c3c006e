import {
  INSTANCE_GROUP_GROUP,
  INSTANCE_GROUP_KIND,
  INSTANCE_GROUP_PLURAL,
  INSTANCE_GROUP_VERSION,
} from '../../api/external/index.ts';
import { WATCH_FILTER_LABEL } from '../../api/v1beta2/index.ts';
import type { Clock } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import { Reflector } from '../../pkg/kube/cache/reflector.ts';
import { Store } from '../../pkg/kube/cache/store.ts';
import { findServed } from '../../pkg/kube/discovery.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import { keyOf } from '../../pkg/kube/object-key.ts';
import type { KubeClient } from '../../pkg/kube/types.ts';
import { Controller } from '../../pkg/runtime/controller.ts';
import type { Metrics } from '../../pkg/runtime/metrics.ts';
import { Workqueue } from '../../pkg/runtime/queue/workqueue.ts';
import type { Leadership } from '../../pkg/runtime/leadership.ts';
import type { Runnable } from '../../pkg/runtime/runnable.ts';
import type { Caches } from '../shared/caches.ts';
import type { ServedSchema } from '../shared/crd/served-schema.ts';
import { InstanceGroupReconciler } from './reconcile.ts';

const NAME = 'instancegroups';
/**
 * How many keiko InstanceGroups are reconciled at the same time. A reconcile sends a few requests to the API server,
 * and none to AWS.
 */
const CONCURRENCY = 2;

export interface InstanceGroupControllerOptions {
  readonly client: KubeClient;
  readonly caches: Pick<Caches, 'profiles' | 'typed'>;
  readonly schema: ServedSchema;
  /**
   * The only namespace whose keiko InstanceGroups this manager reconciles; undefined if it reconciles all namespaces.
   */
  readonly namespace?: string;
  /**
   * The value of the watch-filter label that keiko InstanceGroups must have; undefined if all InstanceGroups are
   * reconciled.
   */
  readonly watchFilter?: string;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Returns the controller that creates an AWSFargateProfile for each InstanceGroup of keiko's instance-manager whose
 * provisioner is eks-fargate. The flag --instance-groups adds it to the manager. The CRD of InstanceGroups may be
 * installed later.
 */
export function instanceGroupController(options: InstanceGroupControllerOptions): {
  readonly controller: Runnable;
  readonly cache: Runnable;
} {
  const { client, caches, namespace, watchFilter, metrics, clock, random, logger } = options;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  const groups = new Store({ name: `${INSTANCE_GROUP_PLURAL}.${INSTANCE_GROUP_GROUP}`, logger });
  const kind = { group: INSTANCE_GROUP_GROUP, plural: INSTANCE_GROUP_PLURAL, versions: [INSTANCE_GROUP_VERSION] };
  const cache = new Reflector({
    client,
    store: groups,
    resolve: (signal) => findServed(client, kind, signal),
    clock,
    random,
    logger,
    ...(namespace !== undefined && { namespace }),
    ...(watchFilter !== undefined && { labelSelector: `${WATCH_FILTER_LABEL}=${watchFilter}` }),
  });
  groups.onChange(({ object }) => queue.add(keyOf(object)));
  // While the API server does not serve InstanceGroups, changes of AWSFargateProfiles enqueue nothing. So all
  // InstanceGroups are enqueued once they are listed.
  groups.onSync((isSynced) => {
    const listing = groups.list();
    if (isSynced && listing.kind === 'listed') for (const group of listing.objects) queue.add(keyOf(group));
  });
  // An AWSFargateProfile has the namespace and the name of its keiko InstanceGroup. Most AWSFargateProfiles have no
  // InstanceGroup, and a lookup in the cache of InstanceGroups keeps them out of the queue.
  caches.profiles.onChange(({ object }) => {
    if (groups.lookup(keyOf(object)).kind === 'found') queue.add(keyOf(object));
  });
  const { reconcile } = new InstanceGroupReconciler({
    ...options,
    groups,
    profileStore: caches.profiles,
    profiles: caches.typed.profiles,
  });
  return {
    controller: new Controller({
      name: NAME,
      object: { group: INSTANCE_GROUP_GROUP, kind: INSTANCE_GROUP_KIND },
      concurrency: CONCURRENCY,
      queue,
      reconcile,
      clock,
      random,
      logger,
      metrics: metrics.controller(NAME),
    }),
    cache,
  };
}
