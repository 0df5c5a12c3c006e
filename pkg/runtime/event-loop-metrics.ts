import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { EventLoopDelays, EventLoopMonitor } from '../env/event-loop.ts';

const STATISTICS: Readonly<Record<keyof EventLoopDelays, string>> = {
  min: 'The least',
  max: 'The largest',
  mean: 'The mean',
  stddev: 'The standard deviation of the',
  p50: 'The median',
  p90: 'The 90th percentile of the',
  p99: 'The 99th percentile of the',
};

const nameOf = (statistic: string): string => `nodejs_eventloop_lag_${statistic}_seconds`;

/**
 * Registers the metrics of the event loop's delay under the names of prom-client's metrics. They replace prom-client's
 * metrics, because prom-client adds the interval of the measurement to each delay.
 */
export function registerEventLoopMetrics(registry: Registry, monitor: EventLoopMonitor): void {
  const gauges = new Map<string, Gauge>();
  for (const [statistic, what] of Object.entries(STATISTICS)) {
    registry.removeSingleMetric(nameOf(statistic));
    const gauge = new Gauge({
      name: nameOf(statistic),
      help: `${what} delay of a timer in the event loop since the last scrape, in seconds.`,
      registers: [registry],
      // The registry collects the metrics in the order of their registration. So only the first gauge has `collect`,
      // which sets the values of all gauges.
      ...(gauges.size === 0 && { collect: () => setAll(gauges, monitor.takeDelays()) }),
    });
    gauges.set(statistic, gauge);
  }
}

function setAll(gauges: ReadonlyMap<string, Gauge>, delays: EventLoopDelays): void {
  for (const [statistic, ms] of Object.entries(delays)) gauges.get(statistic)?.set(ms / 1000);
}
