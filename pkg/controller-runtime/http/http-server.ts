import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { Ms } from '../env/clock.ts';
import { aborted, untilAborted } from '../async/deadline.ts';
import { errorMessage } from '../text/error-text.ts';
import type { Logger } from '../log/logger.ts';
import type { Runnable } from '../manager/runnable.ts';

/** Without a host, the address means all IPv6 and IPv4 addresses of the machine. */
export interface ListenAddress {
  readonly host?: string;
  /** The TCP port; 0 selects any free port. */
  readonly port: number;
}

/**
 * Parses an address in the format of Go programs: `:9440`, `127.0.0.1:9440`, `[::1]:9440`. Returns `undefined` for `0`
 * and the empty string, which disable the server. Throws an error that contains the flag.
 */
export function parseAddress(flag: string, text: string): ListenAddress | undefined {
  if (text === '0' || text === '') return undefined;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new Error(
      `--${flag}: "${text}" is no address; write ":9440", "127.0.0.1:9440", "[::1]:9440" or "0" for none`,
    );
  const host = match[1] ?? match[2];
  return host === undefined || host === '' ? { port } : { host, port };
}

export function formatAddress({ host, port }: ListenAddress): string {
  return host?.includes(':') ? `[${host}]:${port}` : `${host ?? ''}:${port}`;
}

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The Authorization header. */
  readonly authorization?: string;
  /** Returns `undefined` if the body is longer than `limit` bytes. */
  readonly readBody: (limit: number) => Promise<string | undefined>;
  /** Aborts when the connection of the request closes, and after the response has been sent. */
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export type HttpHandler = (request: HttpRequest) => Promise<HttpResponse> | HttpResponse;

export interface TlsSource {
  /** Throws if there is no usable certificate. */
  load(signal: AbortSignal): Promise<SecureContextOptions>;
  /** Calls `apply` after each change of the certificate, until the signal aborts. */
  watch(signal: AbortSignal, apply: (settings: SecureContextOptions) => void): Promise<void>;
}

export interface HttpServerOptions {
  /** For logs and errors, e.g. `health probes`. */
  readonly name: string;
  readonly address: ListenAddress;
  readonly handler: HttpHandler;
  readonly logger: Logger;
  /** The time limit for receiving a request. The default is 10 s. */
  readonly requestTimeout?: Ms;
  /** Default: GET and HEAD. */
  readonly methods?: readonly string[];
  /** If undefined, the server uses plain HTTP. */
  readonly tls?: TlsSource;
}

const TEXT = 'text/plain; charset=utf-8';

const REQUEST_TIMEOUT: Ms = 10_000;
const READ_METHODS = ['GET', 'HEAD'];
/** Enough for a kubelet, which opens one connection per probe, and for a few scrapers, which keep one each. */
const MAX_CONNECTIONS = 64;

/** Without a shared reason, each `abort` would create a new exception. */
const CONNECTION_CLOSED = new Error('the client has closed the connection');

export class HttpServer implements Runnable {
  readonly name: string;
  private readonly options: HttpServerOptions;
  private readonly listening = Promise.withResolvers<ListenAddress>();

  constructor(options: HttpServerOptions) {
    this.options = options;
    this.name = options.name;
  }

  async started(signal: AbortSignal): Promise<void> {
    await untilAborted(signal, () => this.listening.promise);
  }

  /** Resolves when the server listens, with the actual port if the configured one is 0. */
  address(): Promise<ListenAddress> {
    return this.listening.promise;
  }

  /** Throws when the certificate cannot be loaded, or when the server cannot listen on its address or fails later. */
  async run(signal: AbortSignal): Promise<void> {
    const { address, logger, name, tls, requestTimeout = REQUEST_TIMEOUT } = this.options;
    const limits = { headersTimeout: requestTimeout, requestTimeout, connectionsCheckingInterval: requestTimeout / 2 };
    const secure =
      tls &&
      createTlsServer({ ...limits, handshakeTimeout: requestTimeout, ...(await tls.load(signal)) }, this.respond);
    const server = secure ?? createServer(limits, this.respond);
    const connections = limitConnections(server);
    try {
      server.listen({ port: address.port, ...(address.host === undefined ? {} : { host: address.host }) });
      await once(server, 'listening', { signal });
    } catch (error) {
      server.close();
      if (signal.aborted) return;
      throw new Error(`listening on ${formatAddress(address)} for ${name}: ${describeListenError(error)}`, {
        cause: error,
      });
    }
    const bound = server.address();
    const at = bound !== null && typeof bound === 'object' ? { ...address, port: bound.port } : address;
    logger.info('Serving', { what: name, address: formatAddress(at) });
    this.listening.resolve(at);
    const failed = new Promise<never>((_resolve, reject) => server.on('error', reject));
    try {
      const stopped = tls?.watch(signal, (settings) => secure?.setSecureContext(settings)) ?? aborted(signal);
      await Promise.race([stopped, failed]);
    } finally {
      const closed = once(server, 'close');
      server.close();
      connections.closeAll();
      await closed;
    }
  }

  private readonly respond: RequestListener = (request, response) => {
    const { logger, name, methods = READ_METHODS } = this.options;
    const send = ({ status, contentType = TEXT, headers, body }: HttpResponse): void => {
      response.writeHead(status, {
        ...headers,
        'content-type': contentType,
        'content-length': Buffer.byteLength(body),
        'x-content-type-options': 'nosniff',
      });
      response.end(body);
    };
    const { method = 'GET' } = request;
    if (!methods.includes(method)) return send(methodNotAllowed(methods));
    const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s);
    const closing = new AbortController();
    response.once('close', () => closing.abort(CONNECTION_CLOSED));
    const { authorization } = request.headers;
    Promise.resolve({
      method,
      path,
      query: new URLSearchParams(query),
      ...(authorization !== undefined && { authorization }),
      readBody: (limit: number) => readBody(request, limit),
      signal: closing.signal,
    })
      .then(this.options.handler)
      .then(send)
      .catch((error: unknown) => {
        logger.error('Failed to answer a request', error, { what: name, path });
        if (!response.headersSent) send({ status: 500, body: 'internal server error\n' });
        else response.destroy();
      });
  };
}

/**
 * When more than {@link MAX_CONNECTIONS} are open, the server closes its oldest connection instead of refusing the new
 * one, because clients that hold connections must not block the kubelet's probes. `closeAll` closes all connections,
 * even those whose TLS handshake has not ended.
 */
function limitConnections(server: Server): { readonly closeAll: () => void } {
  // The oldest comes first: a Set keeps the order of insertion.
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    for (const oldest of open) {
      if (open.size <= MAX_CONNECTIONS) break;
      open.delete(oldest);
      oldest.destroy();
    }
  });
  return {
    closeAll: () => {
      for (const socket of open) socket.destroy();
    },
  };
}

async function readBody(request: IncomingMessage, limit: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export const methodNotAllowed = (allowed: readonly string[]): HttpResponse => ({
  status: 405,
  headers: { allow: allowed.join(', ') },
  body: 'method not allowed\n',
});

/** Node's own message begins with a system call and a code, so it is not shown. */
function describeListenError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return 'the port is taken by another process';
  if (code === 'EACCES') return 'no permission to use this port';
  if (code === 'EADDRNOTAVAIL') return 'this machine does not have this address';
  return errorMessage(error);
}

export const notFound: HttpResponse = { status: 404, body: '404 page not found\n' };
