import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Emulator } from './emulator.ts';
import type { EmulatorOptions } from './emulator.ts';
import type { Exchange } from './faults.ts';
import type { WireRequest } from './wire/http.ts';

export interface EmulatorServer {
  readonly emulator: Emulator;
  /** `http://127.0.0.1:<port>`, for the SDK's endpoint settings. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

const adminPrefix = '/_emulator/';

/** Serves AWS on loopback, and the admin functions as `POST /_emulator/<function>` with one JSON value each. */
export async function startServer(
  options: EmulatorOptions & { readonly port?: number; readonly emulator?: Emulator } = {},
): Promise<EmulatorServer> {
  const emulator = options.emulator ?? new Emulator(options);
  const server = createServer((request, response) => {
    serve(emulator, request, response).catch((error: unknown) => {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' });
      response.end(`emulator failed: ${message}`);
    });
  });
  // Manager and tests keep connections open between polls that may be many seconds apart.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    emulator,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

async function serve(emulator: Emulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  // The path is cut off by hand: a URL object would normalise what the wire must see as it came.
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

function send(exchange: Exchange, request: IncomingMessage, response: ServerResponse): void {
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
    case 'stall': {
      const { status, headers, body } = exchange.answered.response;
      response.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) });
      response.write(body.slice(0, body.length / 2));
      return;
    }
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
    // The admin API is for tests of this repository, which are type checked against it: see remote.ts.
    reply(200, await call(input as never));
  } catch (error) {
    reply(400, { error: error instanceof Error ? error.message : String(error) });
  }
}
