import { createConnection, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './listen.ts';

/** Relays TCP connections. A test can reset the connections, like a faulty network. */
export interface TcpProxy {
  readonly port: number;
  /** The number of connections that the proxy has accepted so far. */
  readonly accepted: number;
  /** Resets all open connections. The proxy still accepts new connections. */
  cut(): void;
  /** Resets all open connections, and each new connection until `restore` is called. */
  refuse(): void;
  restore(): void;
  /**
   * Drops all further bytes of the connections that are open now, in both directions, and leaves these connections open,
   * like a firewall that has forgotten them. The proxy still relays new connections.
   */
  swallow(): void;
  close(): Promise<void>;
}

/**
 * Closes a connection immediately, so that the other side gets a reset. If this side has already ended its half of the
 * connection, the other side gets only that end: Node.js 24 cannot reset a connection while it sends the end, and would
 * leave the socket open forever.
 */
function resetConnection(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** Starts a TCP proxy on a free port of 127.0.0.1. The proxy relays connections to the port `target` of 127.0.0.1. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let accepted = 0;
  let isRefusing = false;
  const reset = (): void => {
    for (const socket of open) resetConnection(socket);
  };
  const server = createServer((downstream) => {
    accepted += 1;
    if (isRefusing) {
      downstream.resetAndDestroy();
      return;
    }
    const upstream = createConnection(target, '127.0.0.1');
    for (const [socket, other] of [
      [downstream, upstream],
      [upstream, downstream],
    ] as const) {
      open.add(socket);
      // After an error, the socket emits `close`, and the listener for `close` destroys the socket on the other side.
      socket.on('error', () => {});
      socket.once('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    downstream.pipe(upstream).pipe(downstream);
  });
  const port = await listenOnLoopback(server);
  return {
    port,
    get accepted() {
      return accepted;
    },
    cut: reset,
    refuse() {
      isRefusing = true;
      reset();
    },
    restore() {
      isRefusing = false;
    },
    swallow() {
      for (const socket of open) socket.unpipe().resume();
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      reset();
      await closed;
    },
  };
}
