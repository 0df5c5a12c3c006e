import { type ChangeHandler, Reflector, Store } from 'controller-runtime/cache';
import { type ObjectKey, type Resource, resourceName } from 'controller-runtime/client';
import { Controller } from 'controller-runtime/controller';
import type { Runnable } from 'controller-runtime/manager';
import { Workqueue } from 'controller-runtime/queue';
import { GRANT } from '../shared/api-rejections.ts';
import { compareSchema } from '../shared/crd/crd-schema.ts';
import { CRDS, OUR_CRD } from '../shared/crd/served-schema.ts';
import { WEBHOOK_PHASES, configurationKey, configurationResource } from './parts.ts';
import { RecordStore } from './record.ts';
import { CrdKeeper } from './reconcile.ts';
import type { ControllerOptions } from '../shared/controller-options.ts';

const NAME = 'crdkeeper';

/**
 * The CRD keeper restores the CRD of AWSFargateProfiles after CAPA has replaced it (flag --manage-crd). Watch events
 * trigger its reconciles, which read the API server. `recordNamespace` contains the ConfigMap with this controller's
 * changes. The dry run that probes CAPA's webhooks creates its AWSFargateProfile there too.
 */
export function crdKeeperController(options: ControllerOptions & { readonly recordNamespace: string }): {
  readonly controller: Runnable;
  readonly caches: readonly Runnable[];
} {
  const { caches, recordNamespace, namespace, metrics, ...rest } = options;
  const { client, clock, logger } = rest;
  const queue = new Workqueue({ clock, metrics: metrics.workqueue(NAME) });
  const keeper = new CrdKeeper({
    ...rest,
    profiles: caches.profiles,
    records: new RecordStore(client, recordNamespace),
    ...(namespace !== undefined && { watchedNamespace: namespace }),
  });
  const cacheOf = (resource: Resource, { name }: ObjectKey, onChange: ChangeHandler = () => {}): Runnable => {
    const store = new Store({ name: resourceName(resource), logger });
    store.onChange(() => queue.add(OUR_CRD));
    store.onChange(onChange);
    const fieldSelector = `metadata.name=${name}`;
    return new Reflector({ ...rest, store, resolve: async () => resource, fieldSelector, grant: GRANT });
  };
  const crds = cacheOf(CRDS, OUR_CRD, ({ object }) => {
    if (compareSchema(object).kind === 'foreign') keeper.noteForeignCrd();
  });
  const configurations = WEBHOOK_PHASES.map((phase) => cacheOf(configurationResource(phase), configurationKey(phase)));
  queue.add(OUR_CRD);
  return {
    controller: new Controller({
      ...rest,
      name: NAME,
      object: { group: CRDS.group, kind: 'CustomResourceDefinition' },
      concurrency: 1,
      queue,
      reconcile: keeper.reconcile,
      metrics: metrics.controller(NAME),
    }),
    caches: [crds, ...configurations],
  };
}
