import { expect } from 'chai';
import { Registry } from 'prom-client';
import { cacheMetrics, Metrics } from './metrics.ts';
import type { Runnable } from '../manager/runnable.ts';

describe('The metrics', () => {
  it('have the labels and buckets of controller-runtime and client-go', async () => {
    const registry = new Registry();
    const metrics = new Metrics(registry);
    metrics.controller('widget').recordReconcile('success', 130);
    const queue = metrics.workqueue('widget');
    queue.recordQueueDuration(2);
    queue.recordWorkDuration(3_000);
    queue.registerGauges({ depth: () => 0, processing: () => [1_000, 500] });
    const text = await registry.metrics();
    const labels = 'name="widget",controller="widget"';
    for (const line of [
      'controller_runtime_reconcile_total{controller="widget",result="requeue_after"} 0',
      'controller_runtime_reconcile_time_seconds_bucket{le="0.1",controller="widget"} 0',
      'controller_runtime_reconcile_time_seconds_bucket{le="0.15",controller="widget"} 1',
      `workqueue_unfinished_work_seconds{${labels}} 1.5`,
      `workqueue_queue_duration_seconds_sum{${labels}} 0.002`,
      `workqueue_work_duration_seconds_sum{${labels}} 3`,
    ])
      expect(text.split('\n'), line).to.include(line);
  });
});

describe('cacheMetrics', () => {
  it('has the age of each cache', async () => {
    const registry = new Registry();
    const runnable = (name: string, age?: number): Runnable => ({
      name,
      run: async () => {},
      ...(age !== undefined && { outdatedFor: () => age }),
    });
    cacheMetrics(registry, 'example_cache_age_seconds').watch([
      runnable('reflector of clusters', 1_500),
      runnable('events'),
      runnable('x', 0),
    ]);
    const { values = [] } = (await registry.getSingleMetric('example_cache_age_seconds')?.get()) ?? {};
    expect(values.map(({ labels, value }) => [labels['cache'], value])).to.deep.equal([
      ['clusters', 1.5],
      ['x', 0],
    ]);
  });
});
