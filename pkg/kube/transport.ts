import type { Logger } from '../env/logger.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface TransportRequest {
  readonly method: Method;
  /** Path and query, e.g. `/api/v1/pods?limit=500`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Iterate to the end, or `return()` early: until then the response holds its connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * One HTTP exchange with the API server: the only door through which the product reaches Kubernetes. Any status is an
 * answer; `send` rejects when none came, and the body throws when it breaks off. Deadlines are the caller's, by signal.
 */
export interface Transport {
  /** `host:port` of the server, for metrics and messages. */
  readonly host: string;
  send(request: TransportRequest): Promise<TransportResponse>;
}

export interface ClosableTransport extends Transport {
  /** Breaks what is under way and closes all connections. */
  close(): Promise<void>;
}

/** `rest_client_requests_total{code,method,host}`. */
export type CountRequest = (labels: {
  /** The status, or `<error>` when no answer came, as client-go counts it. */
  readonly code: string;
  readonly method: Method;
  readonly host: string;
}) => void;

export interface ObserveOptions {
  readonly userAgent: string;
  readonly count?: CountRequest;
  readonly logger?: Logger;
}

/** Warnings that were logged once are remembered up to this many, so that a chatty webhook cannot fill memory. */
const MAX_WARNINGS = 200;

/**
 * Adds the User-Agent (its part before `/` is the field manager of our writes), counts requests, and logs each distinct
 * Warning of the server once: a rule that an object violated before is warned about on every write (KEP-4008), so a line
 * each time would only be noise.
 */
export function observe(transport: Transport, { userAgent, count, logger }: ObserveOptions): Transport {
  const { host } = transport;
  const warned = new Set<string>();
  const logWarnings = (header: string | undefined): void => {
    if (header === undefined || logger === undefined || warned.has(header) || warned.size >= MAX_WARNINGS) return;
    warned.add(header);
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

/** Reads a body to its end as UTF-8. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
