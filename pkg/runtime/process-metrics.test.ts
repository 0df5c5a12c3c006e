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
      // On a busy machine, the first measurements may all be late. prom-client's own metric would add the 0.1 s between two
      // measurements to each delay, so this program would never end.
      const print = async () => {
        const text = await registry.metrics();
        const [, delay] = /^nodejs_eventloop_lag_min_seconds (\\S+)$/m.exec(text) ?? [];
        if (Number(delay) > 0 && Number(delay) < 0.1) console.log(text);
        else setTimeout(print, 350);
      };
      setTimeout(print, 350);
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
  });
});
