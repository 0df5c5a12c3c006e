import type { Ms } from '../env/clock.ts';
import { newDispatcher } from '../network/dispatcher.ts';
import type { ProxyChoice } from '../network/environment-proxy.ts';
import type { Transport } from '../client/transport.ts';
import { exchange } from './exchange.ts';

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

/** `connections` is the largest number of open connections to one server. */
export const newConnectToServer =
  (proxyFor: ProxyChoice, connections: number): ConnectToServer =>
  ({ url, certificateAuthority, token }) => {
    const dispatcher = newDispatcher({
      proxy: proxyFor(url),
      connections,
      connectTimeout: CONNECT_TIMEOUT,
      socket: { ca: certificateAuthority },
    });
    return {
      host: url.host,
      send: (request) => exchange(dispatcher, url, request, { authorization: `Bearer ${token}` }),
      close: () => dispatcher.destroy(),
    };
  };
