import { expect } from 'chai';
import { Registry } from 'prom-client';
import { clusterQueueMetrics } from './metrics.ts';

describe('clusterQueueMetrics', () => {
  it('has the waits until a turn in seconds, and the number of objects that wait', async () => {
    const registry = new Registry();
    const metrics = clusterQueueMetrics(registry);
    let waiting = 2;
    metrics.watchWaiting(() => waiting);
    metrics.watchWaiting(() => 1);
    for (const span of [0, 30_000]) metrics.recordWait(span);
    const lines = async () =>
      (await registry.metrics()).split('\n').filter((line) => /^\w+(_count|_sum|waiting) /.test(line));
    const waits = ['capaf_cluster_queue_wait_seconds_sum 30', 'capaf_cluster_queue_wait_seconds_count 2'];
    expect(await lines()).to.deep.equal([...waits, 'capaf_cluster_queue_waiting 3']);
    waiting = 0;
    expect(await lines()).to.deep.equal([...waits, 'capaf_cluster_queue_waiting 1']);
  });
});
