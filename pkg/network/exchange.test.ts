import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { Dispatcher } from 'undici';
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts';
import { newDispatcher } from './dispatcher.ts';
import { exchange } from './exchange.ts';

describe('exchange', () => {
  let server: Server;
  let dispatcher: Dispatcher;
  let serve: (request: IncomingMessage, response: ServerResponse) => void;

  before(async () => {
    server = createServer((request, response) => serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  beforeEach(() => {
    dispatcher = newDispatcher({ proxy: undefined, connections: 1, connectTimeout: HANG_LIMIT_MS });
  });

  afterEach(() => dispatcher.destroy());

  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const send = (path: string, { signal } = new AbortController(), beforeSend?: () => void) => {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return exchange(dispatcher, { origin: `http://127.0.0.1:${port}`, path, method: 'GET' }, { signal, beforeSend });
  };

  const rejection = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => expect.fail('the request was answered'),
      (error: unknown) => error,
    );

  it('returns the final response and the whole body', async () => {
    serve = (_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeHead(201, { 'X-Two': ['a', 'b'] });
      response.write('first ', () => response.end('second'));
    };
    const { statusCode, headers, body } = await send('/');
    expect(statusCode).to.equal(201);
    expect(headers['x-two']).to.equal('a, b');
    expect(headers).to.not.have.property('link');
    expect(Buffer.concat(body).toString()).to.equal('first second');
  });

  it('returns an empty body', async () => {
    serve = (_, response) => response.writeHead(204).end();
    expect(await send('/'))
      .to.include({ statusCode: 204 })
      .and.have.deep.property('body', []);
  });

  it('rejects at once when the signal aborts while the request waits for a connection, and never sends it', async () => {
    const seen: (string | undefined)[] = [];
    const held = Promise.withResolvers<ServerResponse>();
    serve = (request, response) => {
      seen.push(request.url);
      if (request.url === '/held') held.resolve(response);
      else response.end();
    };
    const first = send('/held');
    const response = await held.promise;
    const stop = new AbortController();
    const waiting = rejection(send('/waiting', stop));
    stop.abort(new Error('enough'));
    expect(await waiting).to.have.property('message', 'enough');
    response.end();
    await first;
    await send('/last');
    expect(seen).to.deep.equal(['/held', '/last']);
  });

  it('rejects with the reason of a signal that has aborted before', async () => {
    const stop = new AbortController();
    stop.abort(new Error('too late'));
    expect(await rejection(send('/', stop))).to.have.property('message', 'too late');
  });

  it('stops listening to the signal when the response or an error has come', async () => {
    const stop = new AbortController();
    let listeners = 0;
    const { signal } = stop;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    serve = (request, response) => {
      if (request.url === '/broken') request.socket.destroy();
      else void text(request).then(() => response.end());
    };
    await send('/', stop);
    expect(await rejection(send('/broken', stop))).to.be.an('error');
    expect(listeners).to.equal(0);
  });
});
