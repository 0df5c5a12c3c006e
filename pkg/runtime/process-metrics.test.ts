import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';

describe('collectProcessMetrics', () => {
  it('adds CPU, memory and event loop metrics, and does not keep the process alive', async () => {
    const program = `
      import { Registry } from 'prom-client';
      import { collectProcessMetrics } from ${JSON.stringify(new URL('./process-metrics.ts', import.meta.url).href)};
      const registry = new Registry();
      collectProcessMetrics(registry);
      setTimeout(async () => console.log(await registry.metrics()), 350);
    `;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: new URL('../..', import.meta.url),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).to.equal(0);
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(text).to.match(new RegExp(`^${name} [0-9.e+-]+$`, 'm'));
    const [, delay] = /^nodejs_eventloop_lag_min_seconds (\S+)$/m.exec(text) ?? [];
    // prom-client's own metric would add the 0.1 s between two measurements to the delay, so its value would be at
    // least 0.1 s.
    expect(Number(delay)).to.be.greaterThan(0).and.lessThan(0.1);
  });
});
