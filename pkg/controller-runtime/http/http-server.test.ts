import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import { Registry } from 'prom-client';
import { errorMessage } from '../text/error-text.ts';
import { MemoryLogger } from '../testing/memory-logger.ts';
import { healthHandler } from './health.ts';
import { formatAddress, HttpServer, parseAddress, type HttpHandler, type HttpServerOptions } from './http-server.ts';
import { metricsHandler } from '../metrics/metrics.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };

interface Served {
  readonly url: string;
  readonly port: number;
  readonly logger: MemoryLogger;
  readonly stop: () => Promise<void>;
}

function newServer(
  handler: HttpHandler = () => ({ status: 200, body: 'ok' }),
  options: Partial<HttpServerOptions> = {},
) {
  const logger = new MemoryLogger();
  return { logger, server: new HttpServer({ name: 'a test', address: LOCAL, handler, logger, ...options }) };
}

async function serve(handler?: HttpHandler, options?: Partial<HttpServerOptions>): Promise<Served> {
  const { logger, server } = newServer(handler, options);
  const stopping = new AbortController();
  const ended = server.run(stopping.signal);
  await server.started(stopping.signal);
  const address = await server.address();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await ended;
  };
  return { url: `http://${formatAddress(address)}`, port: address.port, logger, stop };
}

async function get(url: string, method = 'GET'): Promise<{ status: number; body: string; type: string }> {
  const sent = request(url, { method, agent: false }).end();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject);
  });
  const chunks = await response.toArray();
  return {
    status: response.statusCode ?? 0,
    body: Buffer.concat(chunks.map((chunk: Buffer) => chunk)).toString(),
    type: response.headers['content-type'] ?? '',
  };
}

describe('The HTTP server', () => {
  it('serves GET and HEAD and rejects other methods', async () => {
    const { url, stop, logger } = await serve(({ path, query }) => ({
      status: 200,
      body: `${path} ${query.get('q')}`,
    }));
    expect(await get(`${url}/some/path?q=a%26b`)).to.include({ status: 200, body: '/some/path a&b' });
    expect(await get(`${url}/`, 'HEAD')).to.include({ status: 200, body: '' });
    expect(await get(`${url}/`, 'POST')).to.include({ status: 405 });
    expect(logger.linesWith('Serving')[0]?.keys).to.deep.equal({
      what: 'a test',
      address: url.slice('http://'.length),
    });
    await stop();
  });

  it('responds 500 and logs the error when its handler throws or rejects', async () => {
    for (const handler of [
      () => Promise.reject(new Error('secret')),
      () => {
        throw new Error('secret');
      },
    ]) {
      const { url, stop, logger } = await serve(handler);
      expect(await get(url)).to.include({ status: 500, body: 'internal server error\n' });
      expect(logger.linesWith('Failed to answer a request')).to.have.length(1);
      await stop();
    }
  });

  it('reports a port in use in plain words', async () => {
    const { port, stop } = await serve();
    const { server } = newServer(undefined, { name: 'probes', address: { host: '127.0.0.1', port } });
    const error: unknown = await server.run(new AbortController().signal).catch((thrown: unknown) => thrown);
    expect(errorMessage(error)).to.contain(
      `listening on 127.0.0.1:${port} for probes: the port is taken by another process`,
    );
    await stop();
  });

  it('stops and frees the port while a client keeps its connection', async () => {
    const { port, stop } = await serve(() => new Promise(() => {}));
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await stop();
    await closed;
    const again = await serve(undefined, { address: { host: '127.0.0.1', port } });
    await again.stop();
  });

  it('responds while clients open more connections than it keeps', async () => {
    const { url, port, stop } = await serve();
    const sockets = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const socket = connect(port, '127.0.0.1').on('error', () => {});
        await once(socket, 'connect');
        return socket;
      }),
    );
    const closed = Promise.all(sockets.slice(0, 37).map((socket) => once(socket, 'close')));
    expect(await get(url)).to.include({ status: 200, body: 'ok' });
    await closed;
    expect(sockets.slice(37).filter(({ destroyed }) => destroyed)).to.deep.equal([]);
    await stop();
  });

  it('closes the connection of a client that does not send its request in time', async () => {
    const { port, stop } = await serve(undefined, { requestTimeout: 20 });
    const silent = connect(port, '127.0.0.1');
    const slow = connect(port, '127.0.0.1');
    slow.write('GET / HTTP/1.1\r\nhost: x\r\nx-slow: ');
    await Promise.all([silent, slow].map((socket) => once(socket.resume(), 'close')));
    await stop();
  });

  it('ends immediately when it is stopped before it listens', async () => {
    await newServer().server.run(AbortSignal.abort());
  });
});

describe('The health probes', () => {
  const handler = (state: { wrong: string | undefined }): HttpHandler =>
    healthHandler({
      healthz: [],
      readyz: [
        { name: 'ping', check: () => undefined },
        { name: 'caches', check: () => state.wrong },
      ],
    });

  it('respond ok, and list the checks with ?verbose', async () => {
    const { url, stop } = await serve(handler({ wrong: undefined }));
    for (const path of ['/healthz', '/readyz', '/readyz/'])
      expect(await get(url + path), path).to.include({ status: 200, body: 'ok' });
    expect((await get(`${url}/readyz?verbose`)).body).to.equal('[+]ping ok\n[+]caches ok\nreadyz check passed\n');
    for (const path of ['/', '/livez', '/readyz/caches', '/__proto__'])
      expect((await get(url + path)).status, path).to.equal(404);
    await stop();
  });

  it('fail with the reason until the check passes', async () => {
    const state: { wrong: string | undefined } = { wrong: 'waiting for clusters' };
    const { url, stop } = await serve(handler(state));
    expect(await get(`${url}/readyz`)).to.include({
      status: 500,
      body: '[+]ping ok\n[-]caches failed: waiting for clusters\nreadyz check failed\n',
    });
    expect((await get(`${url}/healthz`)).status).to.equal(200);
    state.wrong = undefined;
    expect((await get(`${url}/readyz`)).status).to.equal(200);
    await stop();
  });
});

describe('The metrics endpoint', () => {
  it("serves Prometheus' text format, on its path only", async () => {
    const { url, stop } = await serve(metricsHandler(new Registry()));
    expect(await get(`${url}/metrics`)).to.include({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
    expect((await get(`${url}/`)).status).to.equal(404);
    await stop();
  });
});

describe('parseAddress', () => {
  it('accepts the addresses of Go programs', () => {
    expect(parseAddress('health-addr', ':9440')).to.deep.equal({ port: 9440 });
    expect(parseAddress('health-addr', '127.0.0.1:9440')).to.deep.equal({ host: '127.0.0.1', port: 9440 });
    expect(parseAddress('health-addr', 'localhost:0')).to.deep.equal({ host: 'localhost', port: 0 });
    expect(parseAddress('health-addr', '[::1]:9440')).to.deep.equal({ host: '::1', port: 9440 });
    expect(parseAddress('health-addr', '[::]:65535')).to.deep.equal({ host: '::', port: 65_535 });
  });

  it('returns undefined for 0 and the empty string', () => {
    expect(parseAddress('health-addr', '0')).to.equal(undefined);
    expect(parseAddress('health-addr', '')).to.equal(undefined);
  });

  it('rejects any other text and names the flag', () => {
    for (const text of ['9440', ':', ':65536', ':-1', ':port', '::1:9440', 'a b:1', 'http://x:1', '[::1]', '1.2.3.4'])
      expect(() => parseAddress('health-addr', text), text).to.throw(`--health-addr: "${text}" is no address`);
  });
});
