import { collectDefaultMetrics } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Ms } from '../env/clock.ts';
import { monitorEventLoop } from '../env/event-loop.ts';
import { registerEventLoopMetrics } from './event-loop-metrics.ts';

/**
 * The interval at which the delay of the event loop is measured: short enough to see a delay that endangers a lease of
 * 15 s.
 */
const EVENT_LOOP_INTERVAL: Ms = 100;
/**
 * The longest interval of a timer of Node.js: 24 days. With this interval, prom-client's own measurement of the event
 * loop takes no processor time.
 */
const NEVER: Ms = 2 ** 31 - 1;

/**
 * Registers the metrics of this process (CPU, memory, descriptors, garbage collection, event loop delay) under
 * prom-client's names. Prometheus reads the values at each scrape. Call once per process: prom-client never removes its
 * garbage collection observer.
 */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER });
  registerEventLoopMetrics(registry, monitorEventLoop(EVENT_LOOP_INTERVAL));
}
