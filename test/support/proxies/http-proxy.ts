import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { Gate } from '../gate.ts';
import { IDLE_CONNECTION_MS } from '../idle-connections.ts';
import { listenOnLoopback } from './listen.ts';

/** The parts of an HTTP request by which a test selects requests. */
export interface ProxiedRequest {
  readonly method: string;
  /** The path of the URL, without the query string. */
  readonly path: string;
}

/** Relays HTTP requests to a server. A test can hold requests in the proxy to control their order. */
export interface HttpProxy {
  readonly url: string;
  /**
   * Holds each selected request at the gate. The proxy sends the request to the server after the test has opened the
   * gate.
   */
  holdRequests(gate: Gate, isWanted: (request: ProxiedRequest) => boolean): void;
  /** Makes the proxy answer GET requests for a path with a JSON document, without asking the server. */
  answer(path: string, document: object): void;
  close(): Promise<void>;
}

/**
 * Starts a proxy in front of an HTTPS server. Clients use plain HTTP, so that the proxy can read their requests. The
 * proxy streams the responses, including those of Kubernetes watches.
 */
export async function startHttpProxy(target: { readonly url: string; readonly ca: string }): Promise<HttpProxy> {
  const agent = new Agent({ ca: target.ca, keepAlive: true, timeout: IDLE_CONNECTION_MS });
  const holds: { readonly gate: Gate; readonly isWanted: (request: ProxiedRequest) => boolean }[] = [];

  const answers = new Map<string, object>();

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const proxied = { method, path: url.replace(/\?.*$/, '') };
    for (const { gate, isWanted } of holds) if (isWanted(proxied)) await gate.pass();
    // If the client has closed its connection while its request waited at the gate, the proxy does not send the
    // request.
    if (response.destroyed) return;
    const document = method === 'GET' ? answers.get(proxied.path) : undefined;
    if (document !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      return;
    }
    const onward = httpsRequest(new URL(url, target.url), { method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.once('error', () => response.destroy());
    });
    onward.once('error', () => response.destroy());
    response.once('close', () => onward.destroy());
    request.pipe(onward);
  }

  const server = createServer((request, response) => void relay(request, response));
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    holdRequests(gate, isWanted) {
      holds.push({ gate, isWanted });
    },
    answer(path, document) {
      answers.set(path, document);
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}
