import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { startConnectProxy } from 'controller-runtime/testing';
import type { AwsRequest } from './transport.ts';
import { undiciTransport } from './undici-transport.ts';

describe('The undici transport', () => {
  let server: Server;
  let serve: (request: IncomingMessage, response: ServerResponse) => void;
  const network = undiciTransport();

  before(async () => {
    server = createServer((request, response) => serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  after(async () => {
    await network.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const request = (changes: Partial<AwsRequest> = {}): AwsRequest => {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return { method: 'GET', protocol: 'http:', hostname: '127.0.0.1', port, path: '/', headers: {}, ...changes };
  };

  it('sends method, path, query, headers and body, and returns the whole response', async () => {
    const seen: unknown[] = [];
    serve = (incoming, response) => {
      void text(incoming).then((body) => {
        seen.push([incoming.method, incoming.url, incoming.headers['x-a'], body]);
        response.writeHead(409, { 'X-B': 'c', 'Set-Cookie': ['d', 'e'] }).end('answer ä');
      });
    };
    const { response } = await network.handle(
      request({
        method: 'POST',
        path: '/tags/arn%3Ax%2Fy',
        query: { tagKeys: ['a b', "c'd*"], flag: null },
        headers: { 'x-a': '1' },
        body: new TextEncoder().encode('sent ä'),
      }),
      { abortSignal: new AbortController().signal },
    );
    expect(seen).to.deep.equal([['POST', '/tags/arn%3Ax%2Fy?tagKeys=a%20b&tagKeys=c%27d%2A&flag', '1', 'sent ä']]);
    expect(response.statusCode).to.equal(409);
    expect(response.headers).to.include({ 'x-b': 'c', 'set-cookie': 'd, e' });
    expect(new TextDecoder().decode(response.body instanceof Uint8Array ? response.body : undefined)).to.equal(
      'answer ä',
    );
  });

  it('aborts a request without a response when its signal aborts', async () => {
    const stop = new AbortController();
    const closed = new Promise<void>((resolve) => {
      serve = (incoming) => {
        incoming.socket.once('close', () => resolve());
        stop.abort(new Error('enough'));
      };
    });
    const failure = await rejection(network.handle(request(), { abortSignal: stop.signal }));
    expect(failure).to.have.property('message', 'enough');
    await closed;
  });

  it('aborts a stalled response body when its signal aborts', async () => {
    const stop = new AbortController();
    const closed = new Promise<void>((resolve) => {
      serve = (incoming, response) => {
        incoming.socket.once('close', () => resolve());
        response.writeHead(200, { 'Content-Length': '100' });
        response.write('half of it', () => stop.abort(new Error('enough')));
      };
    });
    const failure = await rejection(network.handle(request(), { abortSignal: stop.signal }));
    expect(failure).to.have.property('message', 'enough');
    await closed;
  });

  it('fails when the connection breaks, and does not retry', async () => {
    let requests = 0;
    serve = (incoming) => {
      requests += 1;
      incoming.socket.destroy();
    };
    const failure = await rejection(network.handle(request(), { abortSignal: new AbortController().signal }));
    expect(failure).to.be.instanceOf(Error);
    expect(requests).to.equal(1);
  });

  it('calls beforeSend when it has a connection', async () => {
    const order: string[] = [];
    serve = (_, response) => {
      order.push('received');
      response.end();
    };
    const onConnected = (): void => void order.push('connected');
    const fresh = undiciTransport();
    subscribe('undici:client:connected', onConnected);
    try {
      await fresh.handle(request(), {
        abortSignal: new AbortController().signal,
        beforeSend: () => void order.push('asked'),
      });
    } finally {
      unsubscribe('undici:client:connected', onConnected);
      await fresh.close();
    }
    expect(order).to.deep.equal(['connected', 'asked', 'received']);
  });

  it('sends nothing when beforeSend throws, and serves the next request', async () => {
    const received: (string | undefined)[] = [];
    serve = (incoming, response) => {
      received.push(incoming.url);
      response.end();
    };
    const { signal: abortSignal } = new AbortController();
    const objection = new Error('not any more');
    const beforeSend = (): never => {
      throw objection;
    };
    expect(await rejection(network.handle(request({ path: '/1' }), { abortSignal, beforeSend }))).to.equal(objection);
    const { response } = await network.handle(request({ path: '/2' }), { abortSignal, beforeSend: () => {} });
    expect(response.statusCode).to.equal(200);
    expect(received).to.deep.equal(['/2']);
  });

  it('chooses the proxy of each endpoint', async () => {
    const { signal: abortSignal } = new AbortController();
    const eks = { method: 'GET', protocol: 'https:', hostname: 'eks.eu-west-1.amazonaws.com', path: '/', headers: {} };
    const proxy = await startConnectProxy();
    const proxied = undiciTransport({ proxyFor: ({ protocol }) => (protocol === 'https:' ? proxy.url : undefined) });
    try {
      proxy.answer('refusal');
      serve = (_, response) => response.end();
      expect((await proxied.handle(request(), { abortSignal })).response.statusCode).to.equal(200);
      expect(await rejection(proxied.handle(eks, { abortSignal }))).to.be.an('error');
      expect(proxy.targets).to.deep.equal(['eks.eu-west-1.amazonaws.com:443']);
    } finally {
      await proxied.close();
      await proxy.close();
    }
  });

  it('rejects a body that is a stream', async () => {
    const failure = await rejection(
      network.handle(request({ body: { a: 1 } }), { abortSignal: new AbortController().signal }),
    );
    expect(failure).to.be.instanceOf(TypeError);
  });
});

function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('it was answered');
    },
    (error: unknown) => error,
  );
}
