import type { Server, Socket } from 'node:net';

/** The maximum number of connections: a kubelet opens one per probe, and a few scrapers keep one each. */
const MAX_CONNECTIONS = 64;

/**
 * Limits the open connections of a server. When a further client connects, the server closes the connection that has
 * been open longest, and does not refuse the new one: clients that hold connections must not keep the kubelet's probes
 * out. `closeAll` closes all open connections, also those whose TLS handshake has not ended.
 */
export function limitConnections(server: Server): { readonly closeAll: () => void } {
  /** The open connections, the oldest first: a Set keeps the order of insertion. */
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
