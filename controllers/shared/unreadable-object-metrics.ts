import type { Registry } from 'prom-client';
import { Gauge } from 'prom-client';
import type { TypedStore } from '../../pkg/kube/cache/typed-store.ts';

type Stores = Readonly<Record<string, Pick<TypedStore<unknown>, 'unreadable'>>>;

export interface UnreadableObjectMetrics {
  /**
   * Starts to report how many objects in these caches the manager cannot read. The keys of `stores` are the kinds of
   * the objects.
   */
  watch(stores: Stores): void;
}

/**
 * Registers the metric that shows how many objects of each kind the manager cannot read. A log line names each of these
 * objects. The only label of the metric is the kind: a user can make any number of objects, and each label value needs
 * memory.
 */
export function unreadableObjectMetrics(registry: Registry): UnreadableObjectMetrics {
  const watched: Record<string, Stores[string]> = {};
  const gauge = new Gauge({
    name: 'capaf_unreadable_objects',
    help: 'Number of objects that the manager cannot decode. It does nothing for these objects and what depends on them.',
    labelNames: ['kind'],
    registers: [],
    collect() {
      for (const [kind, { unreadable }] of Object.entries(watched)) this.set({ kind }, unreadable);
    },
  });
  registry.registerMetric(gauge);
  return { watch: (stores) => void Object.assign(watched, stores) };
}
