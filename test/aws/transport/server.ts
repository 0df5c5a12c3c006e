import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { listenOnLoopback } from '../../support/proxies/listen.ts';
import { type EmulatorOptions, Emulator } from '../emulator.ts';
import type { ClientOutcome } from '../faults.ts';
import type { WireRequest } from '../wire/http.ts';

export interface EmulatorServer {
  readonly emulator: Emulator;
  /** The URL `http://127.0.0.1:<port>`, or `https://localhost:<port>`, for the endpoint settings of the AWS SDK. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

const adminPrefix = '/_emulator/';

export interface EmulatorServerOptions extends EmulatorOptions {
  /** An emulated AWS that other servers serve too; default: a new one. */
  readonly emulator?: Emulator;
  /** The certificate of `localhost`, with its key; default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/**
 * Starts an HTTP server on the loopback interface, which answers requests to the emulated AWS. A test in another
 * process can call each admin function as `POST /_emulator/<function>` with a JSON body.
 */
export async function startServer({ tls, ...options }: EmulatorServerOptions = {}): Promise<EmulatorServer> {
  const emulator = options.emulator ?? new Emulator(options);
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    serve(emulator, request, response).catch((error: unknown) => {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' });
      response.end(`emulator failed: ${message}`);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  // Node.js closes an idle connection after 5 s by default. The manager and the tests keep connections open between
  // requests that can be many seconds apart.
  server.keepAliveTimeout = 120_000;
  const port = await listenOnLoopback(server);
  return {
    emulator,
    url: tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

async function serve(emulator: Emulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  // The path of a request can contain a percent-encoded ARN, and a URL object would normalise the path. So this
  // function splits the request target by hand.
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
  if (path.startsWith(adminPrefix)) {
    await serveAdmin(emulator, path.slice(adminPrefix.length), body, response);
    return;
  }
  const wire: WireRequest = { method: request.method ?? 'GET', path, query, headers: plainHeaders(request), body };
  send(await emulator.handle(wire), request, response);
}

function plainHeaders(request: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

function send(exchange: ClientOutcome, request: IncomingMessage, response: ServerResponse): void {
  switch (exchange.kind) {
    case 'answer': {
      const { status, headers, body } = exchange.answered.response;
      response.writeHead(status, headers);
      response.end(body);
      return;
    }
    case 'silence':
      return;
    case 'reset':
      request.socket.resetAndDestroy();
      return;
  }
}

async function serveAdmin(emulator: Emulator, name: string, body: string, response: ServerResponse): Promise<void> {
  const reply = (status: number, value: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value ?? null));
  };
  const functions: Readonly<Record<string, (input: never) => unknown>> = emulator.admin;
  const call = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (call === undefined) {
    reply(404, { error: `no admin function ${name}; there are ${Object.keys(functions).join(', ')}` });
    return;
  }
  try {
    const input: unknown = body === '' ? {} : JSON.parse(body);
    // The server does not check the input of an admin function, because only tests of this repository call admin
    // functions. The type RemoteAdmin checks their calls at compile time.
    reply(200, await call(input as never));
  } catch (error) {
    reply(400, { error: error instanceof Error ? error.message : String(error) });
  }
}
