import { expect } from 'chai';
import { Registry } from 'prom-client';
import { cacheMetrics } from './cache-metrics.ts';
import type { Runnable } from './runnable.ts';

describe('cacheMetrics', () => {
  it('has the age of each cache', async () => {
    const registry = new Registry();
    const runnable = (name: string, age?: number): Runnable => ({
      name,
      needsLeadership: false,
      run: async () => {},
      ...(age !== undefined && { outdatedFor: () => age }),
    });
    const ofClass = new (class implements Runnable {
      readonly name = 'a class';
      readonly needsLeadership = false;
      private readonly age = 3_000;
      async run(): Promise<void> {}
      outdatedFor(): number {
        return this.age;
      }
    })();
    cacheMetrics(registry).watch([
      ofClass,
      runnable('reflector of clusters', 1_500),
      runnable('events'),
      runnable('x', 0),
    ]);
    const { values = [] } = (await registry.getSingleMetric('capaf_cache_age_seconds')?.get()) ?? {};
    expect(values.map(({ labels, value }) => [labels['cache'], value])).to.deep.equal([
      ['a class', 3],
      ['clusters', 1.5],
      ['x', 0],
    ]);
  });
});
