import { expect } from 'chai';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { HttpRequest, HttpResponse } from './http-server.ts';
import { diagnosticsHandler, systemProfiler } from './diagnostics-handler.ts';

function fixture() {
  const clock = new VirtualClock();
  const verbosities: number[] = [];
  const handler = diagnosticsHandler({
    metrics: () => ({ status: 200, body: 'metrics' }),
    setVerbosity: (verbosity) => void verbosities.push(verbosity),
    profiler: systemProfiler,
    clock,
  });
  const send = async (url: string, options: Partial<HttpRequest> = {}): Promise<HttpResponse> => {
    const [path = '', query = ''] = url.split('?');
    const { signal } = new AbortController();
    const request = { method: 'GET', path, query: new URLSearchParams(query), readBody: async () => '', signal };
    return handler({ ...request, ...options });
  };
  const put = (body: string | undefined): Promise<HttpResponse> =>
    send('/debug/flags/v', { method: 'PUT', readBody: async () => body });
  return { clock, verbosities, send, put };
}

/** Keeps some objects alive, so that a heap profile contains a sample. */
const allocated: object[] = [];

describe('diagnosticsHandler', () => {
  it('serves metrics, and knows the methods of its paths', async () => {
    const { send } = fixture();
    expect(await send('/metrics')).to.deep.equal({ status: 200, body: 'metrics' });
    expect(await send('/debug/flags/v')).to.deep.include({ status: 405, headers: { allow: 'PUT' } });
    expect(await send('/metrics', { method: 'PUT' })).to.deep.include({ status: 405 });
    for (const path of ['/', '/debug/pprof', '/debug/pprof/cmdline', '/metrics/', '/metrics/../debug/flags/v'])
      expect((await send(path)).status, path).to.equal(404);
  });

  it('sets the verbosity of the log', async () => {
    const { put, verbosities } = fixture();
    expect(await put('4\n')).to.deep.equal({ status: 200, body: 'successfully set klog.logging.verbosity to 4\n' });
    for (const body of ['', 'x', '-1', '4.5', '99999', undefined]) expect((await put(body)).status, body).to.equal(400);
    expect(verbosities).to.deep.equal([4]);
  });

  it('takes a profile of the processor time and of the heap', async () => {
    const { clock, send } = fixture();
    const take = async (path: string): Promise<HttpResponse> => {
      const response = send(`${path}?seconds=2`);
      while (clock.pendingTimers().length === 0) await clock.advance(0);
      for (let n = 0; n < 50_000; n++) allocated.push({ n });
      await clock.advance(2_000);
      return response;
    };
    const cpu = await take('/debug/pprof/profile');
    expect(cpu).to.deep.include({
      status: 200,
      contentType: 'application/json',
      headers: { 'content-disposition': 'attachment; filename="manager.cpuprofile"' },
    });
    expect(JSON.parse(cpu.body)).to.include.keys('nodes', 'samples', 'timeDeltas', 'startTime', 'endTime');
    const heap = await take('/debug/pprof/heap');
    expect(JSON.parse(heap.body)).to.have.keys('head', 'samples');
    expect(heap.body).to.include(import.meta.url);
  });

  it('takes one profile at a time, until the client closes the connection', async () => {
    const { clock, send } = fixture();
    const closing = new AbortController();
    const first = send('/debug/pprof/profile', { signal: closing.signal });
    while (clock.pendingTimers().length === 0) await clock.advance(0);
    expect((await send('/debug/pprof/heap')).status).to.equal(409);
    closing.abort(new Error('closed'));
    expect((await first).status).to.equal(503);
    const second = send('/debug/pprof/heap?seconds=60');
    while (clock.pendingTimers().length === 0) await clock.advance(0);
    await clock.advance(60_000);
    expect((await second).status).to.equal(200);
  });

  it('refuses a time that is no number from 1 to 60', async () => {
    const { send } = fixture();
    for (const seconds of ['0', '61', '-1', 'x', '1.5', ''])
      expect((await send(`/debug/pprof/profile?seconds=${seconds}`)).status, seconds).to.equal(400);
  });
});
