import type { Logger } from '../log/logger.ts';
import { redactCredentials } from '../text/redact.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface TransportRequest {
  readonly method: Method;
  /** With the query, e.g. `/api/v1/pods?limit=500`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Until its end is read, or `return()` is called on its iterator, the response occupies a connection. */
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Sends all of the manager's requests to Kubernetes. `send` resolves for every HTTP status, and rejects when there is
 * no response. Reading the body throws when the connection breaks. Only the signal limits the time of a response.
 */
export interface Transport {
  /** `host:port` of the API server, for metrics and messages. */
  readonly host: string;
  send(request: TransportRequest): Promise<TransportResponse>;
}

export type CountRequest = (labels: {
  /** `<error>` when there was no response, as in client-go's metric. */
  readonly code: string;
  readonly method: Method;
  readonly host: string;
}) => void;

export interface ObserveRequestsOptions {
  readonly userAgent: string;
  readonly count?: CountRequest;
  readonly logger?: Logger;
}

/** The largest number of warnings to remember: a webhook with many different warnings must not fill the memory. */
const MAX_WARNINGS = 200;

/**
 * Adds the User-Agent header to each request, counts requests, and logs each distinct Warning header once, because the
 * API server may send the same Warning for every write (KEP-1693). The API server uses the part of `userAgent` before
 * `/` as the field manager of a write.
 */
export function observeRequests(transport: Transport, { userAgent, count, logger }: ObserveRequestsOptions): Transport {
  const { host } = transport;
  const loggedWarnings = new Set<string>();
  const logWarning = (warning: string | undefined): void => {
    if (warning === undefined || loggedWarnings.has(warning) || loggedWarnings.size >= MAX_WARNINGS) return;
    loggedWarnings.add(warning);
    logger?.info('The API server warns', { warning: redactCredentials(warning) });
  };
  return {
    host,
    async send(request) {
      const { method } = request;
      try {
        const headers = { ...request.headers, 'user-agent': userAgent };
        const response = await transport.send({ ...request, headers });
        count?.({ code: String(response.status), method, host });
        logWarning(response.headers['warning']);
        return response;
      } catch (error) {
        count?.({ code: '<error>', method, host });
        throw error;
      }
    },
  };
}

/** Throws if the body has more than `max` bytes. */
export async function readText(body: TransportResponse['body'], max = Number.POSITIVE_INFINITY): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > max) throw new Error(`the response has more than ${max} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
