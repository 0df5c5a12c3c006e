import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import type { Ms } from '../env/clock.ts';
import { monitorEventLoop, type EventLoopDelays } from '../env/event-loop.ts';

/** Short enough to see a delay of the event loop that endangers a lease of 15 s. */
const EVENT_LOOP_INTERVAL: Ms = 100;
/** The longest interval of a timer: prom-client's own measurement of the event loop takes no processor time. */
const NEVER: Ms = 2 ** 31 - 1;

/**
 * Registers the metrics of this process (CPU, memory, descriptors, garbage collection, event loop delay) under
 * prom-client's names. Call once per process: prom-client never removes its garbage collection observer.
 */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER });
  registerEventLoopMetrics(registry, monitorEventLoop(EVENT_LOOP_INTERVAL));
}

const STATISTICS: Readonly<Record<keyof EventLoopDelays, string>> = {
  min: 'The least',
  max: 'The largest',
  mean: 'The mean',
  stddev: 'The standard deviation of the',
  p50: 'The median',
  p90: 'The 90th percentile of the',
  p99: 'The 99th percentile of the',
};

/** Replaces prom-client's metrics, which contain the interval of the measurement in each delay. */
export function registerEventLoopMetrics(registry: Registry, takeDelays: () => EventLoopDelays): void {
  const gauges = new Map<string, Gauge>();
  for (const [statistic, what] of Object.entries(STATISTICS)) {
    const name = `nodejs_eventloop_lag_${statistic}_seconds`;
    registry.removeSingleMetric(name);
    const gauge = new Gauge({
      name,
      help: `${what} delay of a timer in the event loop since the last scrape, in seconds.`,
      registers: [registry],
      // The registry collects in the order of registration, so the first gauge sets the values of all.
      ...(gauges.size === 0 && { collect: () => setAll(gauges, takeDelays()) }),
    });
    gauges.set(statistic, gauge);
  }
}

function setAll(gauges: ReadonlyMap<string, Gauge>, delays: EventLoopDelays): void {
  for (const [statistic, ms] of Object.entries(delays)) gauges.get(statistic)?.set(ms / 1000);
}
