import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Runnable } from './runnable.ts';

export interface CacheMetrics {
  /**
   * Adds caches to the metric `capaf_cache_age_seconds`, which reports for how long the watch of each cache has not
   * worked.
   */
  watch(caches: readonly Runnable[]): void;
}

/** Registers the metric `capaf_cache_age_seconds`. */
export function cacheMetrics(registry: Registry): CacheMetrics {
  const watched: Runnable[] = [];
  const gauge = new Gauge({
    name: 'capaf_cache_age_seconds',
    help: 'For how long the watch of a kind has not worked, in seconds; 0 while it works or the API server does not serve the kind.',
    labelNames: ['cache'],
    registers: [],
    collect() {
      for (const cache of watched) {
        const age = cache.outdatedFor?.();
        if (age !== undefined) this.set({ cache: cache.name.replace('reflector of ', '') }, age / 1_000);
      }
    },
  });
  registry.registerMetric(gauge);
  return { watch: (caches) => watched.push(...caches) };
}
