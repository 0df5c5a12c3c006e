import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import type { Clock, Ms } from '../env/clock.ts';
import { CredentialSource, type Credentials } from './credentials.ts';
import type { Kubeconfig } from './kubeconfig.ts';
import type { ClosableTransport, TransportRequest, TransportResponse } from './transport.ts';

/** Each watch holds one for as long as it lasts; the rest is for workers, events and the lease. */
const MAX_CONNECTIONS = 64;
const CONNECT_TIMEOUT: Ms = 10_000;
/** kube-apiserver closes an idle connection after 90 s; we do so before it, or a request could meet the close. */
const IDLE_CONNECTION: Ms = 60_000;
/** As client-go: well within the minute after which some load balancers forget a silent connection. */
const TCP_KEEP_ALIVE: Ms = 30_000;

export interface ConnectOptions {
  /** Called at once, and again when the server refuses the credentials. */
  readonly load: () => Kubeconfig;
  readonly clock: Clock;
}

/**
 * The API server that a kubeconfig names, over HTTP/1.1 on one pool of connections that is kept as long as the TLS
 * material stays the same.
 *
 * @throws KubeconfigError
 */
export function connect({ load, clock }: ConnectOptions): ClosableTransport {
  const source = new CredentialSource(load, clock);
  let pool: { readonly fingerprint: string; readonly dispatcher: Dispatcher } | undefined;
  let isClosed = false;

  const dispatcherFor = ({ fingerprint, tls }: Credentials): Dispatcher => {
    if (isClosed) throw new Error('the transport is closed');
    const id = `${fingerprint} ${source.proxy?.href ?? ''}`;
    if (pool?.fingerprint !== id) {
      // Requests under way end on their own; watches within their five minutes.
      void pool?.dispatcher.close().catch(() => {});
      pool = { fingerprint: id, dispatcher: newDispatcher(tls, source.proxy) };
    }
    return pool.dispatcher;
  };

  const exchange = async (request: TransportRequest, credentials: Credentials): Promise<TransportResponse> => {
    const { origin, pathname } = source.server;
    const { statusCode, headers, body } = await dispatcherFor(credentials).request({
      origin,
      // A server behind a gateway has a path of its own.
      path: pathname.replace(/\/$/, '') + request.path,
      method: request.method,
      headers: { ...request.headers, ...credentials.headers },
      signal: request.signal,
      // Every request has its deadline from the caller, and a watch may be silent for as long as it likes.
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(request.body === undefined ? {} : { body: request.body }),
    });
    return { status: statusCode, headers: flatten(headers), body };
  };

  return {
    host: source.server.host,
    async send(request) {
      const credentials = await source.get(request.signal);
      const response = await exchange(request, credentials);
      if (response.status !== 401) return response;
      const fresh = await source.refresh(credentials, request.signal);
      if (fresh === undefined) return response;
      for await (const _ of response.body); // gives the connection back
      return exchange(request, fresh);
    },
    async close() {
      isClosed = true;
      await pool?.dispatcher.destroy();
    },
  };
}

function newDispatcher(tls: Credentials['tls'], proxy: URL | undefined): Dispatcher {
  const socket = { timeout: CONNECT_TIMEOUT, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE };
  // HTTP/2 would put all watches on one connection, whose loss stops them together, for little gain.
  const pool = { allowH2: false, connections: MAX_CONNECTIONS, pipelining: 1, keepAliveTimeout: IDLE_CONNECTION };
  return proxy === undefined
    ? new Agent({ ...pool, connect: { ...socket, ...tls } })
    : new ProxyAgent({ ...pool, uri: proxy.href, proxyTunnel: true, requestTls: { ...socket, ...tls } });
}

const flatten = (headers: Readonly<Record<string, string | string[] | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
