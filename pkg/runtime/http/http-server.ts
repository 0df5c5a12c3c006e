import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { Ms } from '../../env/clock.ts';
import { aborted, untilAborted } from '../../async/deadline.ts';
import { errorMessage } from '../../env/error-text.ts';
import type { Logger } from '../../env/logger.ts';
import { formatAddress } from './address.ts';
import type { ListenAddress } from './address.ts';
import { limitConnections } from './connection-limit.ts';
import type { Runnable } from '../types.ts';

export interface HttpRequest {
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface HttpResponse {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string;
}

/** A function that responds to an HTTP request. Authorization is a handler that wraps another handler. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpResponse> | HttpResponse;

export interface HttpServerOptions {
  /** The name of the server in logs and errors, e.g. `health probes`. */
  readonly name: string;
  readonly address: ListenAddress;
  readonly handler: HttpHandler;
  readonly logger: Logger;
  /** How long a client may take to send a request; default: 10 s. */
  readonly requestTimeout?: Ms;
}

const TEXT = 'text/plain; charset=utf-8';

/** The maximum number of connections: a kubelet opens one per probe, and a few scrapers keep one each. */
const MAX_CONNECTIONS = 64;
/** How long a client may take to send a request. */
const REQUEST_TIMEOUT: Ms = 10_000;

/** An HTTP server for GET and HEAD requests. */
export class HttpServer implements Runnable {
  readonly name: string;
  readonly needsLeadership = false;
  private readonly options: HttpServerOptions;
  private readonly listening = Promise.withResolvers<ListenAddress>();

  constructor(options: HttpServerOptions) {
    this.options = options;
    this.name = options.name;
  }

  /** Resolves when the server accepts connections. Throws the signal's reason when the signal aborts before that. */
  async started(signal: AbortSignal): Promise<void> {
    await untilAborted(signal, () => this.listening.promise);
  }

  /** Resolves when the server listens. The result is the address with the actual port. */
  address(): Promise<ListenAddress> {
    return this.listening.promise;
  }

  /** Accepts connections until the signal aborts. Throws when the server cannot listen on its address. */
  async run(signal: AbortSignal): Promise<void> {
    const { address, logger, name, requestTimeout = REQUEST_TIMEOUT } = this.options;
    const server = createServer(
      {
        headersTimeout: requestTimeout,
        requestTimeout,
        connectionsCheckingInterval: requestTimeout / 2,
      },
      this.handleRequest,
    );
    limitConnections(server, MAX_CONNECTIONS);
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
      await Promise.race([aborted(signal), failed]);
    } finally {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    }
  }

  private readonly handleRequest: RequestListener = (request, response) => {
    const { logger, name } = this.options;
    const send = ({ status, contentType = TEXT, body }: HttpResponse): void => {
      response.writeHead(status, {
        'content-type': contentType,
        'content-length': Buffer.byteLength(body),
        'x-content-type-options': 'nosniff',
      });
      response.end(body);
    };
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return send({ status: 405, body: 'method not allowed\n' });
    }
    const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s);
    Promise.resolve({ path, query: new URLSearchParams(query) })
      .then(this.options.handler)
      .then(send)
      .catch((error: unknown) => {
        logger.error('Failed to answer a request', error, { what: name, path });
        if (!response.headersSent) send({ status: 500, body: 'internal server error\n' });
        else response.destroy();
      });
  };
}

/** Describes a common error of listening in words, because Node's own messages only name the system call. */
function describeListenError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return 'the port is taken by another process';
  if (code === 'EACCES') return 'no permission to use this port';
  if (code === 'EADDRNOTAVAIL') return 'this machine does not have this address';
  return errorMessage(error);
}

export const notFound: HttpResponse = { status: 404, body: '404 page not found\n' };
