import { type Registry, Gauge, Histogram } from 'prom-client';
import type { Ms } from '../../pkg/env/clock.ts';

/** Up to eight hours, because EKS takes some minutes for each change that is ahead. */
const WAIT_BUCKETS_SECONDS = [1, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 28_800];

export interface LaneMetrics {
  recordWait(span: Ms): void;
  watchWaiting(count: () => number): void;
}

export function laneMetrics(registry: Registry): LaneMetrics {
  const waits = new Histogram({
    name: 'capaf_cluster_queue_wait_seconds',
    help: 'How long a profile has waited until it could start its change in EKS, which changes one profile of a cluster at a time, in seconds.',
    buckets: WAIT_BUCKETS_SECONDS,
    registers: [registry],
  });
  const counts: (() => number)[] = [];
  const waiting = new Gauge({
    name: 'capaf_cluster_queue_waiting',
    help: 'Number of profiles that wait for their turn to be changed in EKS.',
    registers: [],
    collect() {
      this.set(counts.reduce((sum, count) => sum + count(), 0));
    },
  });
  registry.registerMetric(waiting);
  return {
    recordWait: (span) => waits.observe(span / 1_000),
    watchWaiting: (count) => counts.push(count),
  };
}
