import { expect } from 'chai';
import { Registry } from 'prom-client';
import { cacheMetrics, Metrics } from './metrics.ts';
import type { Runnable } from './runnable.ts';

const namesIn = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('# TYPE '))
    .map((line) => line.slice('# TYPE '.length));

describe('The metrics', () => {
  it('have the names, labels and buckets of controller-runtime and client-go', async () => {
    const metrics = new Metrics();
    const controller = metrics.controller('awsfargateprofile');
    controller.setMaxConcurrentReconciles(10);
    controller.recordReconcile('success', 130);
    const queue = metrics.workqueue('awsfargateprofile');
    queue.recordQueueDuration(2);
    queue.recordWorkDuration(3_000);
    queue.registerGauges({ depth: () => 4, processing: () => [1_000, 500] });
    metrics.leaderElection('lease');
    const text = await metrics.registry.metrics();
    expect(namesIn(text)).to.have.members([
      'controller_runtime_reconcile_total counter',
      'controller_runtime_reconcile_errors_total counter',
      'controller_runtime_terminal_reconcile_errors_total counter',
      'controller_runtime_reconcile_panics_total counter',
      'controller_runtime_reconcile_time_seconds histogram',
      'controller_runtime_max_concurrent_reconciles gauge',
      'controller_runtime_active_workers gauge',
      'workqueue_depth gauge',
      'workqueue_adds_total counter',
      'workqueue_queue_duration_seconds histogram',
      'workqueue_work_duration_seconds histogram',
      'workqueue_unfinished_work_seconds gauge',
      'workqueue_longest_running_processor_seconds gauge',
      'workqueue_retries_total counter',
      'leader_election_master_status gauge',
      'leader_election_slowpath_total counter',
    ]);
    const labels = 'name="awsfargateprofile",controller="awsfargateprofile"';
    for (const line of [
      'controller_runtime_reconcile_total{controller="awsfargateprofile",result="success"} 1',
      'controller_runtime_reconcile_total{controller="awsfargateprofile",result="requeue_after"} 0',
      'controller_runtime_reconcile_panics_total{controller="awsfargateprofile"} 0',
      'controller_runtime_reconcile_time_seconds_bucket{le="0.1",controller="awsfargateprofile"} 0',
      'controller_runtime_reconcile_time_seconds_bucket{le="0.15",controller="awsfargateprofile"} 1',
      'controller_runtime_max_concurrent_reconciles{controller="awsfargateprofile"} 10',
      `workqueue_depth{${labels}} 4`,
      `workqueue_unfinished_work_seconds{${labels}} 1.5`,
      `workqueue_longest_running_processor_seconds{${labels}} 1`,
      `workqueue_queue_duration_seconds_sum{${labels}} 0.002`,
      `workqueue_work_duration_seconds_sum{${labels}} 3`,
      'leader_election_master_status{name="lease"} 0',
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
    cacheMetrics(registry, 'capaf_cache_age_seconds').watch([
      runnable('reflector of clusters', 1_500),
      runnable('events'),
      runnable('x', 0),
    ]);
    const { values = [] } = (await registry.getSingleMetric('capaf_cache_age_seconds')?.get()) ?? {};
    expect(values.map(({ labels, value }) => [labels['cache'], value])).to.deep.equal([
      ['clusters', 1.5],
      ['x', 0],
    ]);
  });
});
