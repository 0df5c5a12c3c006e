import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** No answer for this long is an error. Watches have no such limit. */
const REQUEST_TIMEOUT_MS = 30_000;
/** A watch that the server cannot serve yet is asked for again after so long, and so often: for some half a minute. */
const TRY_AGAIN_MS = 100;
const MOST_TRIES = 300;

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** What tests look at in any Kubernetes object, as the server sent it: nothing is decoded, so nothing is hidden. */
export interface KubeObject {
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
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>> & { readonly conditions?: readonly Condition[] };
}

export interface KubeList<T = KubeObject> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
}

export interface WatchEvent<T = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

export interface ApiResponse {
  readonly status: number;
  /** Parsed if the server called it JSON, else text. */
  readonly body: unknown;
  /** The texts of the `Warning` headers. */
  readonly warnings: readonly string[];
}

/** An answer of 400 or more; `message` is the server's own. */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly body: unknown;

  constructor(request: string, response: ApiResponse) {
    const { message, reason } = statusOf(response.body);
    super(`${request}: ${response.status} ${message}`);
    this.name = 'ApiError';
    this.status = response.status;
    this.reason = reason;
    this.body = response.body;
  }
}

const PATCH_TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export type PatchType = keyof typeof PATCH_TYPES;
export type Query = Readonly<Record<string, string | number | boolean>>;

export interface RequestOptions {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly query?: Query;
  readonly signal?: AbortSignal;
}

export interface ApiTarget {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
  /** As whom the API server's audit log knows it. */
  readonly userAgent?: string;
}

/**
 * A raw client of the API server for tests: paths and JSON, nothing else, so that a mistake of the product's own client
 * cannot hide in it.
 */
export class Api {
  readonly #target: ApiTarget;
  readonly #agent: Agent;

  constructor(target: ApiTarget) {
    this.#target = target;
    this.#agent = new Agent({ keepAlive: true, ca: target.ca });
  }

  /** The same server, as another user. */
  as(token: string): Api {
    return new Api({ ...this.#target, token });
  }

  /** The same server and user, under another name in the audit log. */
  calledAs(userAgent: string): Api {
    return new Api({ ...this.#target, userAgent });
  }

  get<T = KubeObject>(path: string, query?: Query): Promise<T> {
    return this.#json<T>('GET', path, query === undefined ? {} : { query });
  }

  list<T = KubeObject>(path: string, query?: Query): Promise<KubeList<T>> {
    return this.get<KubeList<T>>(path, query);
  }

  post<T = KubeObject>(path: string, body: unknown, query: Query = {}): Promise<T> {
    return this.#json<T>('POST', path, { body, query });
  }

  put<T = KubeObject>(path: string, body: unknown, query: Query = {}): Promise<T> {
    return this.#json<T>('PUT', path, { body, query });
  }

  patch<T = KubeObject>(path: string, body: unknown, type: PatchType = 'merge', query: Query = {}): Promise<T> {
    return this.#json<T>('PATCH', path, { body, contentType: PATCH_TYPES[type], query });
  }

  /** Server-side apply, taking over fields that others own. */
  apply<T = KubeObject>(path: string, body: unknown, fieldManager = 'test'): Promise<T> {
    return this.patch<T>(path, body, 'apply', { fieldManager, force: true });
  }

  delete<T = unknown>(path: string, body?: unknown): Promise<T> {
    return this.#json<T>('DELETE', path, body === undefined ? {} : { body });
  }

  /** Whether an object is there: 404 is an answer, any other refusal an error. */
  async exists(path: string): Promise<boolean> {
    const response = await this.request('GET', path);
    if (response.status === 404) return false;
    if (response.status >= 400) throw new ApiError(`GET ${path}`, response);
    return true;
  }

  /** Any request; refusals are answers. Throws only when there was no answer. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    const signals = [
      AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...(options.signal === undefined ? [] : [options.signal]),
    ];
    const message = await this.#send(method, path, { ...options, signal: AbortSignal.any(signals) });
    const text = await textOf(message);
    const isJson = message.headers['content-type']?.startsWith('application/json') === true;
    return { status: message.statusCode ?? 0, body: isJson ? parse(text) : text, warnings: warningsOf(message) };
  }

  /**
   * The events of a watch, until the server ends it or `signal` is aborted. A connection that breaks is an error; a server
   * that asks to come again in a moment, as it does while it sets the kind's storage up, is asked again.
   */
  async *watch<T = KubeObject>(path: string, query: Query = {}, signal?: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    try {
      let rest = '';
      for await (const chunk of (await this.#opened(path, { ...query, watch: true }, signal)).setEncoding('utf8')) {
        const lines = (rest + String(chunk)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) yield parse(line) as WatchEvent<T>;
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  }

  async #opened(path: string, query: Query, signal: AbortSignal | undefined): Promise<IncomingMessage> {
    const options = signal === undefined ? { query } : { query, signal };
    for (let tries = 1; ; tries += 1) {
      const message = await this.#send('GET', path, options);
      if (message.statusCode === 200) return message;
      const body = parse(await textOf(message));
      if (message.statusCode !== 429 || tries === MOST_TRIES)
        throw new ApiError(`watching ${path}`, { status: message.statusCode ?? 0, body, warnings: [] });
      await delay(TRY_AGAIN_MS, undefined, signal === undefined ? {} : { signal });
    }
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #json<T>(method: string, path: string, options: RequestOptions): Promise<T> {
    const response = await this.request(method, path, options);
    if (response.status >= 400) throw new ApiError(`${method} ${path}`, response);
    return response.body as T;
  }

  #send(method: string, path: string, options: RequestOptions): Promise<IncomingMessage> {
    const url = new URL(path, this.#target.url);
    for (const [key, value] of Object.entries(options.query ?? {})) url.searchParams.set(key, String(value));
    const payload = options.body === undefined ? undefined : JSON.stringify(options.body);
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

function statusOf(body: unknown): { message: string; reason: string } {
  if (typeof body !== 'object' || body === null) return { message: String(body), reason: '' };
  const message = 'message' in body && typeof body.message === 'string' ? body.message : JSON.stringify(body);
  return { message, reason: 'reason' in body && typeof body.reason === 'string' ? body.reason : '' };
}

/** RFC 7234 §5.5: `299 - "text"`, several of them in one header. */
function warningsOf(message: IncomingMessage): string[] {
  const header = message.headers['warning'];
  const text = Array.isArray(header) ? header.join(', ') : (header ?? '');
  return [...text.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, warning = '']) =>
    warning.replaceAll(/\\(.)/g, '$1'),
  );
}
