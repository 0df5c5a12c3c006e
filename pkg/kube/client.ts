import type { Clock, Ms } from '../env/clock.ts';
import { DeadlineExceeded, isAborted, sleep, untilAborted, withDeadline } from '../env/deadline.ts';
import { decodeList, decodeObject, decodeWatchEvent, isStatus, parseJson, refusal } from './decode.ts';
import { isNotFound, KubeError } from './errors.ts';
import { lines } from './lines.ts';
import { collectionPath, keyText, objectPath, query, resourceName } from './paths.ts';
import { readText, type Method, type Transport, type TransportResponse } from './transport.ts';
import type {
  DeleteOptions,
  KubeClient,
  KubeList,
  KubeObject,
  ListOptions,
  ObjectKey,
  PatchOptions,
  Resource,
  WatchEvent,
  WatchOptions,
} from './types.ts';

/** As the API server's own limit for a mutating request with its webhooks (30 s each at most) is rarely exceeded. */
const REQUEST_DEADLINE: Ms = 30_000;
/** As the API server's `--request-timeout`: a list that takes longer is cut there too. */
const LIST_DEADLINE: Ms = 60_000;
/** client-go: how often a server that asks to come back later is asked again. */
const MAX_RETRIES = 10;

/** Objects in one page of a list, as client-go's pager asks for. */
export const PAGE_SIZE = 500;

export interface KubeClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Exchange {
  /** For messages: "getting x". */
  readonly doing: string;
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly limit?: Ms;
  readonly signal: AbortSignal;
}

export function createKubeClient({ transport, clock }: KubeClientOptions): KubeClient {
  async function exchange(request: Exchange): Promise<Answer> {
    const { doing, method, limit = REQUEST_DEADLINE, signal } = request;
    const end = clock.monotonic() + limit;
    for (let retries = 0; ; retries++) {
      const answer = await ask(request, end - clock.monotonic());
      if (answer.status >= 200 && answer.status <= 299) return answer;
      const error = refusal(doing, method, answer);
      const wait = pauseAfter(error);
      if (wait === undefined || retries === MAX_RETRIES || clock.monotonic() + wait >= end) throw error;
      await sleep(clock, wait, signal).catch(() => {
        throw error;
      });
    }
  }

  async function ask(request: Exchange, limit: Ms): Promise<Answer> {
    const { doing, method, path } = request;
    return withDeadline(clock, limit, request.signal, 'the API server', async (signal) => {
      const response = await transport.send({ method, path, signal, ...payload(request) });
      return { status: response.status, headers: response.headers, text: await readText(response.body) };
    }).catch((cause: unknown) => {
      throw noAnswer(doing, cause);
    });
  }

  async function exchangeJson(request: Exchange): Promise<unknown> {
    return parseJson(request.doing, (await exchange(request)).text);
  }

  async function exchangeObject(request: Exchange): Promise<KubeObject> {
    return decodeObject(request.doing, await exchangeJson(request));
  }

  /** Headers must come within the deadline; after that a watch lasts as long as server and caller want. */
  async function openWatch(doing: string, path: string, stream: AbortController): Promise<TransportResponse> {
    const timer = clock.after(REQUEST_DEADLINE, () =>
      stream.abort(new DeadlineExceeded('the API server', REQUEST_DEADLINE)),
    );
    try {
      const response = await untilAborted(stream.signal, (signal) =>
        transport.send({ method: 'GET', path, headers: ACCEPT, signal }),
      );
      if (response.status === 200) return response;
      const text = await readText(response.body);
      throw refusal(doing, 'GET', { status: response.status, headers: response.headers, text });
    } finally {
      timer.cancel();
    }
  }

  return {
    async get(resource, key, { signal }) {
      const doing = describe('getting', resource, key);
      return absentIfNotFound(() => exchangeObject({ doing, method: 'GET', path: objectPath(resource, key), signal }));
    },

    async list(resource: Resource, options: ListOptions): Promise<KubeList> {
      const doing = `listing ${resourceName(resource)}`;
      const { namespace = '', labelSelector, fieldSelector, limit, resourceVersion, signal } = options;
      const parameters = query({ labelSelector, fieldSelector, limit, continue: options.continue, resourceVersion });
      const path = collectionPath(resource, namespace) + parameters;
      return decodeList(doing, await exchangeJson({ doing, method: 'GET', path, limit: LIST_DEADLINE, signal }));
    },

    async *watch(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent> {
      const doing = `watching ${resourceName(resource)}`;
      const { namespace = '', labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = options;
      const parameters = query({
        watch: 'true',
        allowWatchBookmarks: 'true',
        labelSelector,
        fieldSelector,
        resourceVersion,
        timeoutSeconds,
      });
      const stream = new AbortController();
      const stop = (): void => stream.abort(signal.reason);
      if (signal.aborted) return;
      signal.addEventListener('abort', stop, { once: true });
      let isOpen = false;
      try {
        const response = await openWatch(doing, collectionPath(resource, namespace) + parameters, stream);
        isOpen = true;
        const cutShort = (): never => {
          throw new Error('the connection ended within an event');
        };
        for await (const line of lines(response.body, cutShort)) {
          if (isAborted(signal)) return;
          yield decodeWatchEvent(doing, line);
        }
      } catch (error) {
        if (isAborted(signal)) return;
        if (error instanceof KubeError) throw error;
        throw isOpen ? interrupted(doing, error) : noAnswer(doing, error);
      } finally {
        signal.removeEventListener('abort', stop);
        stream.abort();
      }
    },

    async create(resource, namespace, object, { signal }) {
      const doing = `creating ${resourceName(resource)}`;
      const path = collectionPath(resource, namespace);
      return exchangeObject({ doing, method: 'POST', path, body: object, signal });
    },

    async mergePatch(resource: Resource, key: ObjectKey, patch: unknown, { subresource, signal }: PatchOptions) {
      const doing = describe(subresource === undefined ? 'patching' : `patching ${subresource} of`, resource, key);
      const path = objectPath(resource, key, subresource);
      const contentType = 'application/merge-patch+json';
      return exchangeObject({ doing, method: 'PATCH', path, body: patch, contentType, signal });
    },

    async delete(resource: Resource, key: ObjectKey, options: DeleteOptions) {
      const doing = describe('deleting', resource, key);
      const { uid, signal } = options;
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
      return absentIfNotFound(async () => {
        const left = await exchangeJson({ doing, method: 'DELETE', path: objectPath(resource, key), body, signal });
        if (isStatus(left)) return undefined;
        const object = decodeObject(doing, left);
        // Some built-in kinds answer with the object that was.
        return object.metadata.deletionTimestamp === undefined ? undefined : object;
      });
    },

    async discover(path, { signal }) {
      const doing = `discovering ${path}`;
      try {
        return await exchangeJson({ doing, method: 'GET', path, signal });
      } catch (error) {
        if (error instanceof KubeError && error.status === 404) return undefined;
        throw error;
      }
    },
  };
}

const ACCEPT = { accept: 'application/json' };

function payload({ body, contentType = 'application/json' }: Exchange): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
} {
  if (body === undefined) return { headers: ACCEPT };
  return { headers: { ...ACCEPT, 'content-type': contentType }, body: JSON.stringify(body) };
}

/**
 * How long the server wants to be left alone before the same request comes again, as client-go has it (rest/with_retry.go):
 * it has too much to do, or it starts or stops. `undefined`: coming again is not asked for.
 */
const pauseAfter = ({ status, retryAfter }: KubeError): Ms | undefined =>
  status === 429 || status >= 500 ? retryAfter : undefined;

const describe = (doing: string, resource: Resource, key: ObjectKey): string =>
  `${doing} ${resourceName(resource)} ${keyText(key)}`;

const noAnswer = (doing: string, cause: unknown): KubeError =>
  new KubeError(`${doing}: no answer`, { status: 0, reason: 'NoAnswer', cause });

const interrupted = (doing: string, cause: unknown): KubeError =>
  new KubeError(`${doing}: interrupted`, { status: 0, reason: 'Interrupted', cause });

async function absentIfNotFound<A>(ask: () => Promise<A>): Promise<A | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
