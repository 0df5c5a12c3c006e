import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { aborted, untilAborted } from '../env/deadline.ts';
import { errorMessage } from '../env/error-text.ts';
import type { Logger } from '../env/logger.ts';
import { formatAddress } from './address.ts';
import type { ListenAddress } from './address.ts';
import type { Runnable } from './types.ts';

export interface HttpRequest {
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string;
}

/** Answers a GET. Handlers wrap handlers: what guards a path is a handler around another. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpAnswer> | HttpAnswer;

export interface HttpServerOptions {
  /** What is served, for logs and errors: `health probes`. */
  readonly name: string;
  readonly address: ListenAddress;
  readonly handler: HttpHandler;
  readonly logger: Logger;
}

const TEXT = 'text/plain; charset=utf-8';

/** A small server for GET requests that listens while it runs. */
export class HttpServer implements Runnable {
  readonly name: string;
  readonly needsLeadership = false;
  private readonly options: HttpServerOptions;
  private readonly listening = Promise.withResolvers<ListenAddress>();

  constructor(options: HttpServerOptions) {
    this.options = options;
    this.name = options.name;
  }

  /** Resolves when connections are accepted. */
  async started(signal: AbortSignal): Promise<void> {
    await untilAborted(signal, () => this.listening.promise);
  }

  /** Where the server listens: of use where any free port was asked for. */
  address(): Promise<ListenAddress> {
    return this.listening.promise;
  }

  /** Throws when it cannot listen. */
  async run(signal: AbortSignal): Promise<void> {
    const { address, logger, name } = this.options;
    const server = createServer(this.answer);
    try {
      server.listen({ port: address.port, ...(address.host === undefined ? {} : { host: address.host }) });
      await once(server, 'listening', { signal });
    } catch (error) {
      server.close();
      if (signal.aborted) return;
      throw new Error(`listening on ${formatAddress(address)} for ${name}: ${whatToKnow(error)}`, { cause: error });
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

  private readonly answer: RequestListener = (request, response) => {
    const { logger, name } = this.options;
    const send = ({ status, contentType = TEXT, body }: HttpAnswer): void => {
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

/** Node names the system call; a person wants to know what is wrong. */
function whatToKnow(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return 'the port is taken by another process';
  if (code === 'EACCES') return 'no permission to use this port';
  if (code === 'EADDRNOTAVAIL') return 'this machine does not have this address';
  return errorMessage(error);
}

export const notFound: HttpAnswer = { status: 404, body: '404 page not found\n' };
