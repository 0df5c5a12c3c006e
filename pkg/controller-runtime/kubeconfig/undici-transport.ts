import type { Dispatcher } from 'undici';
import type { Clock, Ms } from '../env/clock.ts';
import { newDispatcher } from '../network/dispatcher.ts';
import { CredentialSource, type KubeCredentials } from './credentials.ts';
import { exchange } from './exchange.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import type { Transport, TransportRequest, TransportResponse } from '../client/transport.ts';

/** Each watch occupies one connection. Workers and the Event writer use the others. */
const MAX_CONNECTIONS = 64;
/** One connection for a renewal, and two to replace connections that a firewall has dropped without closing them. */
const MAX_LEASE_CONNECTIONS = 3;
const CONNECT_TIMEOUT: Ms = 10_000;
/** Shorter than the 90 s of kube-apiserver, so that no request is sent on a connection that kube-apiserver closes. */
const IDLE_CONNECTION: Ms = 60_000;
/** As in client-go: less than the minute after which some load balancers drop an idle connection. */
const TCP_KEEP_ALIVE: Ms = 30_000;

export interface ApiServerConnections extends Transport {
  /**
   * A separate connection pool for leader election. Hanging worker requests, for example behind a slow webhook, can use
   * up the shared pool, and the leader must still renew its lease.
   */
  readonly forLease: Transport;
  /** Aborts open requests and closes all connections. */
  close(): Promise<void>;
}

/**
 * Connects to the API server of a kubeconfig, which is loaded at the start, and again when the API server refuses the
 * credentials. The connection pool is replaced when the TLS material or the proxy changes.
 *
 * @throws KubeconfigError
 */
export function connect(options: { readonly load: () => Kubeconfig; readonly clock: Clock }): ApiServerConnections {
  const source = new CredentialSource(options.load, options.clock);
  const shared = new PooledTransport(source, MAX_CONNECTIONS);
  const forLease = new PooledTransport(source, MAX_LEASE_CONNECTIONS);
  return {
    host: shared.host,
    send: (request) => shared.send(request),
    forLease,
    close: async () => {
      await Promise.all([shared.close(), forLease.close()]);
    },
  };
}

class PooledTransport implements Transport {
  readonly host: string;
  private readonly source: CredentialSource;
  private readonly connections: number;
  private pool: { readonly fingerprint: string; readonly dispatcher: Dispatcher } | undefined;
  private isClosed = false;

  constructor(source: CredentialSource, connections: number) {
    this.source = source;
    this.connections = connections;
    this.host = source.server.host;
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const credentials = await this.source.get(request.signal);
    const response = await this.exchange(request, credentials);
    if (response.status !== 401) return response;
    const fresh = await this.source.refresh(credentials, request.signal);
    if (fresh === undefined) return response;
    for await (const _ of response.body); // reading the body to its end returns the connection to the pool
    return this.exchange(request, fresh);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.pool?.dispatcher.destroy();
  }

  private exchange(request: TransportRequest, credentials: KubeCredentials): Promise<TransportResponse> {
    return exchange(this.dispatcherFor(credentials), this.source.server, request, credentials.headers);
  }

  private dispatcherFor({ fingerprint, tls }: KubeCredentials): Dispatcher {
    if (this.isClosed) throw new Error('the transport is closed');
    const { proxy } = this.source;
    const id = `${fingerprint} ${proxy?.href ?? ''}`;
    if (this.pool?.fingerprint !== id) {
      // `close` lets open requests finish; a watch takes about five minutes.
      void this.pool?.dispatcher.close().catch(() => {});
      this.pool = { fingerprint: id, dispatcher: this.open(tls, proxy) };
    }
    return this.pool.dispatcher;
  }

  private open(tls: KubeCredentials['tls'], proxy: URL | undefined): Dispatcher {
    return newDispatcher({
      proxy,
      connections: this.connections,
      connectTimeout: CONNECT_TIMEOUT,
      keepAliveTimeout: IDLE_CONNECTION,
      socket: { keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE, ...tls },
    });
  }
}
