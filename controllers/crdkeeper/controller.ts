import type { Clock } from '../../pkg/env/clock.ts';
import type { Logger } from '../../pkg/env/logger.ts';
import type { Random } from '../../pkg/env/random.ts';
import { Reflector } from '../../pkg/kube/cache/reflector.ts';
import { Store } from '../../pkg/kube/cache/store.ts';
import type { EventRecorder } from '../../pkg/kube/events/events.ts';
import { resourceName } from '../../pkg/kube/requests/paths.ts';
import type { KubeClient, ObjectKey, Resource } from '../../pkg/kube/types.ts';
import { Controller } from '../../pkg/runtime/controller.ts';
import type { Metrics } from '../../pkg/runtime/metrics.ts';
import { Workqueue } from '../../pkg/runtime/queue/workqueue.ts';
import type { Leadership } from '../../pkg/runtime/leadership.ts';
import type { Runnable } from '../../pkg/runtime/runnable.ts';
import { compareSchema } from '../shared/crd/crd-schema.ts';
import type { ServedSchema } from '../shared/crd/served-schema.ts';
import { CRDS, OUR_CRD } from '../shared/crd/served-schema.ts';
import { WEBHOOK_PHASES, configurationKey, configurationResource } from './observe.ts';
import { RecordStore } from './restoration/record-store.ts';
import { CrdKeeper } from './reconcile.ts';

const NAME = 'crdkeeper';

export interface CrdKeeperControllerOptions {
  readonly client: KubeClient;
  readonly caches: { readonly profiles: Store };
  readonly schema: ServedSchema;
  /**
   * The namespace of the ConfigMap in which this controller records its changes of the CRD. If a dry run must create an
   * AWSFargateProfile, it uses the same namespace.
   */
  readonly recordNamespace: string;
  /** The only namespace whose AWSFargateProfiles this manager reconciles; undefined if it reconciles all namespaces. */
  readonly namespace?: string;
  readonly leadership: Leadership;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Returns the CRD keeper: a controller that restores the CRD of AWSFargateProfiles after Cluster API Provider AWS has
 * replaced it. The flag --manage-crd adds this controller to the manager. Watch events start its reconciles, which read
 * the API server.
 */
export function crdKeeperController(options: CrdKeeperControllerOptions): {
  readonly controller: Runnable;
  readonly caches: readonly Runnable[];
} {
  const { client, schema, recordNamespace, namespace, leadership, recorder, metrics, clock, random, logger } = options;
  const { profiles } = options.caches;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  const keeper = new CrdKeeper({
    client,
    profiles,
    records: new RecordStore(client, recordNamespace),
    ...(namespace !== undefined && { watchedNamespace: namespace }),
    schema,
    leadership,
    recorder,
    clock,
  });
  const cacheOf = (resource: Resource, { name }: ObjectKey): { readonly store: Store; readonly cache: Runnable } => {
    const store = new Store({ name: resourceName(resource), logger });
    const resolve = async (): Promise<Resource> => resource;
    const cache = new Reflector({
      client,
      store,
      resolve,
      clock,
      random,
      logger,
      fieldSelector: `metadata.name=${name}`,
    });
    store.onChange(() => queue.add(OUR_CRD));
    return { store, cache };
  };
  const crds = cacheOf(CRDS, OUR_CRD);
  crds.store.onChange(({ object }) => {
    if (compareSchema(object).kind === 'foreign') keeper.noteForeignCrd();
  });
  const configurations = WEBHOOK_PHASES.map((phase) => cacheOf(configurationResource(phase), configurationKey(phase)));
  queue.add(OUR_CRD);
  return {
    controller: new Controller({
      name: NAME,
      object: { group: CRDS.group, kind: 'CustomResourceDefinition' },
      concurrency: 1,
      queue,
      reconcile: keeper.reconcile,
      clock,
      random,
      logger,
      metrics: metrics.controller(NAME),
    }),
    caches: [crds, ...configurations].map(({ cache }) => cache),
  };
}
