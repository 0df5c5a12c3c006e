import type { Logger } from '../../env/logger.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface TransportRequest {
  readonly method: Method;
  /** The path and query of the request, e.g. `/api/v1/pods?limit=500`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Whether the caller reads the whole response body anyway. If so, `send` may wait for the whole body before it
   * resolves, because this takes less processor time.
   */
  readonly isReadWhole?: boolean;
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** The response headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The caller must read the response body to its end, or call `return()` on the iterator of the body: until then the
   * response occupies a connection.
   */
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Sends HTTP requests to the API server. All access of the manager to Kubernetes goes through a Transport.
 *
 * `send` resolves for every HTTP status, and rejects when there is no response. Reading the body throws when the
 * connection breaks. A Transport does not limit the time of a response: callers limit it with the signal.
 */
export interface Transport {
  /** `host:port` of the API server, for metrics and messages. */
  readonly host: string;
  send(request: TransportRequest): Promise<TransportResponse>;
}

export interface ClosableTransport extends Transport {
  /** Aborts open requests and closes all connections. */
  close(): Promise<void>;
}

/** Counts a request in the metric `rest_client_requests_total{code,method,host}`. */
export type CountRequest = (labels: {
  /** The HTTP status, or `<error>` when there was no response, as in client-go's metric. */
  readonly code: string;
  readonly method: Method;
  readonly host: string;
}) => void;

export interface ObserveRequestsOptions {
  readonly userAgent: string;
  readonly count?: CountRequest;
  readonly logger?: Logger;
}

/**
 * The maximum number of different warnings of the API server that are logged and remembered, so that a webhook with
 * many different warnings cannot fill the memory.
 */
const MAX_WARNINGS = 200;

/**
 * Adds the User-Agent to each request, counts requests, and logs each distinct Warning header of the API server once,
 * since the API server may send the same Warning for every write (KEP-1693). The API server uses the part of the
 * User-Agent before `/` as the field manager of writes.
 */
export function observeRequests(transport: Transport, { userAgent, count, logger }: ObserveRequestsOptions): Transport {
  const { host } = transport;
  const loggedWarnings = new Set<string>();
  const logWarnings = (header: string | undefined): void => {
    if (
      header === undefined ||
      logger === undefined ||
      loggedWarnings.has(header) ||
      loggedWarnings.size >= MAX_WARNINGS
    )
      return;
    loggedWarnings.add(header);
    logger.info('The API server warns', { warning: header });
  };
  return {
    host,
    async send(request) {
      const { method } = request;
      try {
        const response = await transport.send({
          ...request,
          headers: { ...request.headers, 'user-agent': userAgent },
        });
        count?.({ code: String(response.status), method, host });
        logWarnings(response.headers['warning']);
        return response;
      } catch (error) {
        count?.({ code: '<error>', method, host });
        throw error;
      }
    },
  };
}

/** Reads a response body to its end as UTF-8. */
export async function readText(body: TransportResponse['body']): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
