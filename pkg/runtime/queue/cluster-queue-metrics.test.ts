import { expect } from 'chai';
import { Registry } from 'prom-client';
import { VirtualClock } from '../../env/testing/virtual-clock.ts';
import { clusterQueueMetrics } from './cluster-queue-metrics.ts';
import type { QueueEntry } from './cluster-queue.ts';
import { ClusterQueue } from './cluster-queue.ts';

describe('clusterQueueMetrics', () => {
  it('has the waits of the turns that were granted, and the number of entries that wait', async () => {
    const clock = new VirtualClock();
    const registry = new Registry();
    const queue = new ClusterQueue({ clock, wake: () => {}, metrics: clusterQueueMetrics(registry) });
    const [a, b, c] = ['a', 'b', 'c'].map((name): QueueEntry => ({
      queue: 'prod',
      id: name,
      name,
      urgent: false,
      createdAt: name,
    })) as [QueueEntry, QueueEntry, QueueEntry];
    const values = async () => {
      const text = await registry.metrics();
      const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
      return {
        waiting: value('capaf_cluster_queue_waiting'),
        count: value('capaf_cluster_queue_wait_seconds_count'),
        sum: value('capaf_cluster_queue_wait_seconds_sum'),
      };
    };
    expect(await values()).to.deep.equal({ waiting: 0, count: 0, sum: 0 });
    queue.requestTurn(a);
    queue.requestTurn(a);
    expect(await values(), 'a has the turn, and asks again').to.deep.equal({ waiting: 0, count: 1, sum: 0 });
    queue.requestTurn(b);
    await clock.advance(10_000);
    queue.requestTurn(b);
    queue.requestTurn(c);
    expect(await values()).to.deep.equal({ waiting: 2, count: 1, sum: 0 });
    await clock.advance(20_000);
    queue.releaseTurn(a);
    queue.requestTurn(b);
    expect(await values(), 'b has waited since its first request').to.deep.equal({ waiting: 1, count: 2, sum: 30 });
    queue.removeEntry('c');
    expect(await values()).to.deep.equal({ waiting: 0, count: 2, sum: 30 });
  });
});
