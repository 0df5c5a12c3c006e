import type { Ms } from '../env/clock.ts';
import { joinHeaderValues, newDispatcher } from '../network/dispatcher.ts';
import type { ProxyChoice } from '../network/environment-proxy.ts';
import type { Transport } from '../client/transport.ts';

export interface ServerAccess {
  readonly url: URL;
  /** The only trusted certificate authority, in PEM. */
  readonly certificateAuthority: string;
  readonly token: string;
}

export interface ServerConnections extends Transport {
  /** Aborts open requests and closes all connections. */
  close(): Promise<void>;
}

export type ConnectToServer = (access: ServerAccess) => ServerConnections;

const CONNECT_TIMEOUT: Ms = 5_000;
/** One connection for each of the ten evictions that the manager sends at the same time. */
const MAX_CONNECTIONS = 10;

export const newConnectToServer =
  (proxyFor: ProxyChoice): ConnectToServer =>
  ({ url, certificateAuthority, token }) => {
    const dispatcher = newDispatcher({
      proxy: proxyFor(url),
      connections: MAX_CONNECTIONS,
      connectTimeout: CONNECT_TIMEOUT,
      socket: { ca: certificateAuthority },
    });
    return {
      host: url.host,
      async send({ method, path, headers, body, signal }) {
        const response = await dispatcher.request({
          origin: url.origin,
          path: url.pathname.replace(/\/$/, '') + path,
          method,
          headers: { ...headers, authorization: `Bearer ${token}` },
          ...(body !== undefined && { body }),
          signal,
        });
        return {
          status: response.statusCode,
          headers: joinHeaderValues(response.headers),
          body: response.body,
        };
      },
      close: () => dispatcher.destroy(),
    };
  };
