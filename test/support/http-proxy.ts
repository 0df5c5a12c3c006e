import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Gate } from './gate.ts';

/** What a test tells requests apart by. */
export interface Passing {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

/** Relays requests to a server, to decide in which order they come to it. */
export interface HttpProxy {
  readonly url: string;
  /** Has each request that is wanted wait at the gate: until that is open, the server knows nothing of it. */
  hold(gate: Gate, isWanted: (request: Passing) => boolean): void;
  close(): Promise<void>;
}

/** Unencrypted on this side, so that it can tell requests apart; answers flow as they come, those of watches too. */
export async function startHttpProxy(target: { readonly url: string; readonly ca: string }): Promise<HttpProxy> {
  const agent = new Agent({ ca: target.ca, keepAlive: true });
  const holds: { readonly gate: Gate; readonly isWanted: (request: Passing) => boolean }[] = [];

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const passing = { method, path: url.replace(/\?.*$/, '') };
    for (const { gate, isWanted } of holds) if (isWanted(passing)) await gate.pass();
    // Who asked may have given up meanwhile.
    if (response.destroyed) return;
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    hold(gate, isWanted) {
      holds.push({ gate, isWanted });
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}
