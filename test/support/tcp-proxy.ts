import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';

/** A relay of TCP connections, to do to them what networks do. */
export interface TcpProxy {
  readonly port: number;
  /** Connections taken so far. */
  readonly accepted: number;
  /** Resets all open connections. */
  cut(): void;
  /** Resets all open connections, and every new one until `restore`. */
  refuse(): void;
  restore(): void;
  close(): Promise<void>;
}

/** Relays 127.0.0.1:`port` of the proxy to 127.0.0.1:`target`. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let accepted = 0;
  let isRefusing = false;
  const reset = (): void => {
    for (const socket of open) socket.resetAndDestroy();
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
      // The other end is told by `close`.
      socket.on('error', () => {});
      socket.once('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    downstream.pipe(upstream).pipe(downstream);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
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
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      reset();
      await closed;
    },
  };
}
