import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';

/** An HTTP proxy to which clients send CONNECT to get a tunnel to another server. */
export interface ConnectProxy {
  readonly url: URL;
  /** The target of each CONNECT so far, for example `prod:443`. */
  readonly targets: readonly string[];
  /** How the proxy answers CONNECT from now on: with a tunnel (the default), with 403, or never. */
  answer(how: 'tunnel' | 'refusal' | 'silence'): void;
  close(): Promise<void>;
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function startConnectProxy(): Promise<ConnectProxy> {
  const targets: string[] = [];
  const open = new Set<Duplex>();
  let answer: Parameters<ConnectProxy['answer']>[0] = 'tunnel';
  const server = createServer();
  server.on('connect', (request, downstream) => {
    targets.push(request.url ?? '');
    open.add(downstream);
    downstream.on('error', () => {}).once('close', () => open.delete(downstream));
    if (answer === 'silence') return;
    if (answer === 'refusal') {
      downstream.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(`tcp://${request.url}`);
    const upstream = connect(Number(port), hostname, () => {
      downstream.write('HTTP/1.1 200 Connection established\r\n\r\n');
      downstream.pipe(upstream).pipe(downstream);
    });
    upstream.on('error', () => downstream.destroy()).once('close', () => downstream.destroy());
    downstream.once('close', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error(`the proxy listens on ${address}`);
  return {
    url: new URL(`http://127.0.0.1:${address.port}`),
    targets,
    answer(how) {
      answer = how;
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      await closed;
    },
  };
}
