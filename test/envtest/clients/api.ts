import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { HANG_LIMIT_MS } from '../../support/hang-limit.ts';
import { IDLE_CONNECTION_MS } from '../../support/idle-connections.ts';

/**
 * If the API server answers a watch request with status 429, the client sends the request again every 100 ms, for at
 * most `HANG_LIMIT_MS`.
 */
const RETRY_MS = 100;
const MAX_TRIES = HANG_LIMIT_MS / RETRY_MS;

export interface RawCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

export interface RawOwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** A Kubernetes object in the JSON of the API server, reduced to the fields that tests read. */
export interface RawObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly RawOwnerReference[];
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>> & { readonly conditions?: readonly RawCondition[] };
}

export interface RawList<T = RawObject> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

export interface RawWatchEvent<T = RawObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

export interface ApiResponse {
  readonly status: number;
  /** The body of the response: parsed if its content type is JSON, otherwise a string. */
  readonly body: unknown;
  /** The texts of the `Warning` headers of the response. */
  readonly warnings: readonly string[];
}

/** A response of the API server with status 400 or higher. The error message includes the message of the API server. */
export class ApiError extends Error {
  readonly status: number;

  constructor(request: string, { status, body }: ApiResponse) {
    super(`${request}: ${status} ${messageOf(body)}`);
    this.name = 'ApiError';
    this.status = status;
  }
}

export type Query = Readonly<Record<string, string | number | boolean>>;

export interface RequestOptions {
  /** The body: text is sent as it is, every other value as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly query?: Query;
  readonly signal?: AbortSignal;
}

export interface ApiTarget {
  readonly url: string;
  /** The certificate of the CA of the API server, in PEM. */
  readonly ca: string;
  readonly token: string;
  /** The user agent that the client sends; the audit log of the API server shows it. Default: `test`. */
  readonly userAgent?: string;
}

/**
 * A client of the API server for tests. Callers pass URL paths and JSON. The client shares no code with the manager, so
 * that tests and manager do not have the same defect.
 */
export class ApiClient {
  readonly #target: ApiTarget;
  readonly #agent: Agent;
  /**
   * The clients that `withToken` and `withUserAgent` derived from this client. `close` closes their connections too.
   */
  readonly #derived: ApiClient[] = [];

  constructor(target: ApiTarget) {
    this.#target = target;
    this.#agent = new Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS, ca: target.ca });
  }

  /**
   * Returns a client of the same API server that sends the token of another user. `close` of this client also closes
   * the returned client.
   */
  withToken(token: string): ApiClient {
    return this.#derive({ token });
  }

  /**
   * Returns a client of the same API server that sends another user agent. `close` of this client also closes the
   * returned client.
   */
  withUserAgent(userAgent: string): ApiClient {
    return this.#derive({ userAgent });
  }

  get<T = RawObject>(path: string, query?: Query): Promise<T> {
    return this.#json<T>('GET', path, query === undefined ? {} : { query });
  }

  list<T = RawObject>(path: string, query?: Query): Promise<RawList<T>> {
    return this.get<RawList<T>>(path, query);
  }

  post<T = RawObject>(path: string, body: unknown, query: Query = {}): Promise<T> {
    return this.#json<T>('POST', path, { body, query });
  }

  /** Sends a JSON merge patch. */
  patch<T = RawObject>(path: string, body: unknown, query: Query = {}): Promise<T> {
    return this.#json<T>('PATCH', path, { body, contentType: 'application/merge-patch+json', query });
  }

  /** Sends a server-side apply request with `force`, which takes over fields that other field managers own. */
  apply<T = RawObject>(path: string, body: unknown, fieldManager = 'test'): Promise<T> {
    const query = { fieldManager, force: true };
    return this.#json<T>('PATCH', path, { body, contentType: 'application/apply-patch+yaml', query });
  }

  delete<T = unknown>(path: string): Promise<T> {
    return this.#json<T>('DELETE', path, {});
  }

  /** @throws {ApiError} if the API server answers with a failure status other than 404 */
  async exists(path: string): Promise<boolean> {
    const response = await this.request('GET', path);
    if (response.status === 404) return false;
    if (response.status >= 400) throw new ApiError(`GET ${path}`, response);
    return true;
  }

  /**
   * Sends a request with any method, and returns the response even if its status is a failure. Throws if the connection
   * fails, if `signal` is aborted, or if no complete response arrives within `HANG_LIMIT_MS`.
   */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    const signals = [AbortSignal.timeout(HANG_LIMIT_MS), ...(options.signal === undefined ? [] : [options.signal])];
    const message = await this.#send(method, path, { ...options, signal: AbortSignal.any(signals) });
    const text = await textOf(message);
    const isJson = message.headers['content-type']?.startsWith('application/json') === true;
    return { status: message.statusCode ?? 0, body: isJson ? parse(text) : text, warnings: warningsOf(message) };
  }

  /**
   * Yields the events of a watch until the API server ends the watch or `signal` is aborted. Sends the watch request
   * again after status 429, with which the API server answers while it sets up the storage of a kind.
   * @throws {ApiError} if the API server answers the watch request with a status other than 200
   * @throws {Error} if the connection breaks
   */
  async *watch<T = RawObject>(path: string, query: Query = {}, signal?: AbortSignal): AsyncGenerator<RawWatchEvent<T>> {
    try {
      let rest = '';
      for await (const chunk of (await this.#openWatch(path, { ...query, watch: true }, signal)).setEncoding('utf8')) {
        const lines = (rest + String(chunk)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) yield parse(line) as RawWatchEvent<T>;
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  }

  async #openWatch(path: string, query: Query, signal: AbortSignal | undefined): Promise<IncomingMessage> {
    const options = signal === undefined ? { query } : { query, signal };
    for (let tries = 1; ; tries += 1) {
      const message = await this.#send('GET', path, options);
      if (message.statusCode === 200) return message;
      const body = parse(await textOf(message));
      if (message.statusCode !== 429 || tries === MAX_TRIES)
        throw new ApiError(`watching ${path}`, { status: message.statusCode ?? 0, body, warnings: [] });
      await delay(RETRY_MS, undefined, signal === undefined ? {} : { signal });
    }
  }

  /** Closes the connections of this client, and of the clients derived from it, to the API server. */
  close(): void {
    this.#agent.destroy();
    for (const client of this.#derived) client.close();
  }

  #derive(change: Partial<ApiTarget>): ApiClient {
    const client = new ApiClient({ ...this.#target, ...change });
    this.#derived.push(client);
    return client;
  }

  async #json<T>(method: string, path: string, options: RequestOptions): Promise<T> {
    const response = await this.request(method, path, options);
    if (response.status >= 400) throw new ApiError(`${method} ${path}`, response);
    return response.body as T;
  }

  #send(method: string, path: string, options: RequestOptions): Promise<IncomingMessage> {
    const url = new URL(path, this.#target.url);
    for (const [key, value] of Object.entries(options.query ?? {})) url.searchParams.set(key, String(value));
    const payload = payloadOf(options.body);
    return new Promise((resolve, reject) => {
      const request = httpsRequest(url, {
        method,
        agent: this.#agent,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${this.#target.token}`,
          'user-agent': this.#target.userAgent ?? 'test',
          ...(payload === undefined ? {} : { 'content-type': options.contentType ?? 'application/json' }),
        },
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      request.once('response', resolve);
      request.once('error', (error) =>
        reject(new Error(`${method} ${url.pathname}: ${error.message}`, { cause: error })),
      );
      request.end(payload);
    });
  }
}

const payloadOf = (body: unknown): string | undefined =>
  body === undefined || typeof body === 'string' ? body : JSON.stringify(body);

async function textOf(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) text += String(chunk);
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function messageOf(body: unknown): string {
  if (typeof body !== 'object' || body === null) return String(body);
  return 'message' in body && typeof body.message === 'string' ? body.message : JSON.stringify(body);
}

/**
 * Returns the texts of the `Warning` headers. One header may have several values of the form `299 - "text"` (RFC 7234
 * §5.5).
 */
function warningsOf(message: IncomingMessage): string[] {
  const header = message.headers['warning'];
  const text = Array.isArray(header) ? header.join(', ') : (header ?? '');
  return [...text.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, warning = '']) =>
    warning.replaceAll(/\\(.)/g, '$1'),
  );
}
