import { Agent, Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { Ms } from '../env/clock.ts';

export interface DispatcherOptions {
  /** If undefined, the servers are reached directly. */
  readonly proxy: URL | undefined;
  /** The largest number of open connections per server. */
  readonly connections: number;
  /** Applies to each step of a new connection: TCP, TLS, and a proxy's answer to CONNECT. */
  readonly connectTimeout: Ms;
  /** How long an idle connection stays open, unless the server announces a different time. The default is 4 s. */
  readonly keepAliveTimeout?: Ms;
  /** Options of the sockets to the servers. */
  readonly socket?: NonNullable<ProxyAgent.Options['requestTls']>;
}

/** Sends HTTP/1.1 requests, directly or in proxy tunnels. Only the caller's signal limits the time of a request. */
export function newDispatcher({
  proxy,
  connections,
  connectTimeout,
  keepAliveTimeout = 4_000,
  socket = {},
}: DispatcherOptions): Dispatcher {
  // With HTTP/2 all requests to a server would share one connection, and its loss would interrupt all of them.
  const pool = {
    allowH2: false,
    connections,
    pipelining: 1,
    keepAliveTimeout,
    connectTimeout,
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (proxy === undefined) return new Agent({ ...pool, connect: { timeout: connectTimeout, ...socket } });
  return new ProxyAgent({
    ...pool,
    uri: proxy.href,
    proxyTunnel: true,
    requestTls: { timeout: connectTimeout, ...socket },
    // undici sends CONNECT requests to the proxy from a separate pool, without the caller's signal. There, an
    // unanswered CONNECT would occupy a connection for 300 s.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: connectTimeout }),
  });
}

/**
 * Calls `check` once a request has a connection, right before undici writes the request (in the same turn of the event
 * loop). If `check` throws, the request is not sent, and fails with that error.
 */
export const withCheck = (dispatcher: Dispatcher, check: () => void): Dispatcher =>
  dispatcher.compose((dispatch) => (options, handler) => dispatch(options, new CheckingHandler(handler, check)));

class CheckingHandler implements Dispatcher.DispatchHandler {
  private readonly inner: Dispatcher.DispatchHandler;
  private readonly check: () => void;

  constructor(inner: Dispatcher.DispatchHandler, check: () => void) {
    this.inner = inner;
    this.check = check;
  }

  onRequestStart(...args: HandlerArguments<'onRequestStart'>): void {
    this.check();
    this.inner.onRequestStart?.(...args);
  }

  onResponseStart(...args: HandlerArguments<'onResponseStart'>): void {
    this.inner.onResponseStart?.(...args);
  }

  onResponseData(...args: HandlerArguments<'onResponseData'>): void {
    this.inner.onResponseData?.(...args);
  }

  onResponseEnd(...args: HandlerArguments<'onResponseEnd'>): void {
    this.inner.onResponseEnd?.(...args);
  }

  onResponseError(...args: HandlerArguments<'onResponseError'>): void {
    this.inner.onResponseError?.(...args);
  }
}

type HandlerArguments<Event extends keyof Dispatcher.DispatchHandler> = Parameters<
  NonNullable<Dispatcher.DispatchHandler[Event]>
>;

/** Joins the values of repeated headers with commas, as HTTP allows (RFC 9110, section 5.3). */
export function joinHeaderValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) joined[name] = typeof value === 'string' ? value : value.join(', ');
  return joined;
}
