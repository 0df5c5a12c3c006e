import { Reflector, Store } from 'controller-runtime/cache';
import { findServed, keyOf, resourceName } from 'controller-runtime/client';
import { Controller } from 'controller-runtime/controller';
import type { Runnable } from 'controller-runtime/manager';
import { Workqueue } from 'controller-runtime/queue';
import { INSTANCE_GROUP_KIND } from '../../api/external/index.ts';
import { WATCH_FILTER_LABEL } from '../../api/v1beta2/index.ts';
import { INSTANCE_GROUPS } from './actions.ts';
import { InstanceGroupReconciler } from './reconcile.ts';
import { GRANT } from '../shared/api-rejections.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';

const NAME = 'instancegroups';
/** A reconcile sends a few requests to the API server, and none to AWS. */
const CONCURRENCY = 2;

/**
 * Creates an AWSFargateProfile for each InstanceGroup whose provisioner is eks-fargate (flag --instance-groups). The
 * CRD of InstanceGroups can be installed later.
 */
export function instanceGroupController(options: ControllerOptions): {
  readonly controller: Runnable;
  readonly cache: Runnable;
} {
  const { client, caches, watchFilter, metrics, clock, logger } = options;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  const groups = new Store({ name: resourceName(INSTANCE_GROUPS), logger });
  const kind = { ...INSTANCE_GROUPS, versions: [INSTANCE_GROUPS.version] };
  const cache = new Reflector({
    ...options,
    grant: GRANT,
    store: groups,
    resolve: (signal) => findServed(client, kind, signal),
    ...(watchFilter !== undefined && { labelSelector: `${WATCH_FILTER_LABEL}=${watchFilter}` }),
  });
  groups.onChange(({ object }) => queue.add(keyOf(object)));
  // Enqueues all InstanceGroups when the cache has listed them: until then, changes of AWSFargateProfiles enqueue no
  // InstanceGroup.
  groups.onSync((isSynced) => {
    const listing = groups.list();
    if (isSynced && listing.kind === 'listed') for (const group of listing.objects) queue.add(keyOf(group));
  });
  // An AWSFargateProfile has the same key as its InstanceGroup. Most have no InstanceGroup; the lookup keeps them out
  // of the queue.
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
      ...options,
      name: NAME,
      object: { group: INSTANCE_GROUPS.group, kind: INSTANCE_GROUP_KIND },
      concurrency: CONCURRENCY,
      queue,
      reconcile,
      metrics: metrics.controller(NAME),
    }),
    cache,
  };
}
