import { isRecord } from '../json/record.ts';
import type { Clock, Ms } from '../env/clock.ts';
import { sleep } from '../async/deadline.ts';
import type { Random } from '../env/random.ts';
import { resourceName } from '../client/requests/paths.ts';
import type { Transport, TransportRequest, TransportResponse } from '../client/transport.ts';
import type { KubeObject, ObjectKey } from '../client/types.ts';
import { BUILT_IN, discoveryDocument } from './fake-kinds.ts';
import { matchesSelector, FakeWatch, inVersion, newStatus, refuseUnknownSelectors, type Target } from './fake-watch.ts';
import {
  FakeStorage,
  apiVersionOf,
  recordAt,
  FakeStorageError,
  type FakeKind,
  type FakeJson,
  type StoredEvent,
} from './fake-storage.ts';

export type { FakeKind } from './fake-storage.ts';

export interface FakeApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The served kinds in addition to Namespace, Secret, Event, and Lease. */
  readonly kinds?: readonly FakeKind[];
}

/** Replaces the response to a request, or throws an error. `undefined`: the fake API server responds itself. */
export type Intercept = (
  request: TransportRequest,
) => undefined | TransportResponse | Error | Promise<undefined | TransportResponse | Error>;

export interface LoggedRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  /** The monotonic time of the request. */
  readonly at: Ms;
}

/**
 * An API server inside the test process, with the semantics that controllers rely on (conformance.ts). It has no
 * authentication, authorization, server-side apply, strategic merge patch, garbage collection, or schema validation. A
 * test can refuse requests with {@link FakeApiServer.intercept}.
 */
export class FakeApiServer implements Transport {
  readonly host = 'kubernetes.test';
  readonly storage: FakeStorage;
  /** All requests so far, oldest first. */
  readonly requests: LoggedRequest[] = [];
  /** The delay before a request is processed. */
  latency: Ms = 0;
  /** The delay between a write and its watch event. */
  watchLag: Ms = 0;
  intercept: Intercept = () => undefined;
  /** Sends an event to the watches. */
  notify = (event: StoredEvent): void => {
    for (const watch of this.watches) if (resourceName(watch.kind) === resourceName(event.kind)) watch.deliver(event);
  };
  private readonly clock: Clock;
  private readonly random: Random;
  private readonly watches = new Set<FakeWatch>();
  private kinds: readonly FakeKind[];
  /** The remaining items of lists, by continue token. */
  private readonly pages = new Map<string, { readonly items: readonly KubeObject[]; readonly version: number }>();

  constructor({ clock, random, kinds = [] }: FakeApiServerOptions) {
    this.clock = clock;
    this.random = random;
    this.kinds = [...BUILT_IN, ...kinds];
    this.storage = new FakeStorage(clock, random);
    this.storage.listen((event) => this.notify(event));
  }

  /** Returns a kind for the methods of {@link storage}, with which tests write objects as another client would. */
  kind(plural: string): FakeKind {
    const found = this.kinds.find((kind) => kind.plural === plural);
    if (found === undefined) throw new RangeError(`the fake API server has no ${plural}`);
    return found;
  }

  /** Serves a new kind, or a kind under different versions. Its objects and open watches stay. */
  serve(kind: FakeKind): void {
    this.kinds = [...this.kinds.filter((one) => one.plural !== kind.plural || one.group !== kind.group), kind];
  }

  /** Closes the watches of a kind and answers its requests with 404. The objects stay. */
  unserve(plural: string): void {
    const gone = this.kind(plural);
    this.kinds = this.kinds.filter((kind) => kind !== gone);
    for (const watch of this.watches) if (watch.kind === gone) watch.end();
  }

  /** Closes all watches, or breaks their connections with `error`. */
  endWatches(error?: Error): void {
    for (const watch of this.watches) watch.end(error);
  }

  get openWatches(): number {
    return this.watches.size;
  }

  /** Expires continue tokens and resourceVersions, as a compaction of etcd does. */
  compact(): void {
    this.storage.compact();
    this.pages.clear();
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const { method, path, signal } = request;
    this.requests.push({ method, path, at: this.clock.monotonic() });
    signal.throwIfAborted();
    if (this.latency > 0) await sleep(this.clock, this.latency, signal);
    const intercepted = await this.intercept(request);
    signal.throwIfAborted();
    if (intercepted instanceof Error) throw intercepted;
    if (intercepted !== undefined) return intercepted;
    try {
      return this.answer(request);
    } catch (error) {
      if (error instanceof FakeStorageError) return refused(error);
      throw error;
    }
  }

  private answer(request: TransportRequest): TransportResponse {
    const url = new URL(request.path, 'https://kubernetes.test');
    const document = discoveryDocument(this.kinds, url.pathname);
    if (document !== undefined) return json(200, document);
    const target = this.route(url.pathname);
    if (target === undefined) return text(404, '404 page not found\n');
    const { kind, version, key } = target;
    const shown = (object: KubeObject): KubeObject => inVersion(object, kind, version);
    const subresource = target.subresource === 'status' ? 'status' : undefined;
    // The fake API server answers a dry run of a PATCH with the stored object, and does not apply the patch.
    if (url.searchParams.get('dryRun') === 'All' && request.method === 'PATCH')
      return json(200, shown(this.found(kind, key)));
    switch (request.method) {
      case 'GET':
        if (key.name !== '') return json(200, shown(this.found(kind, key)));
        refuseUnknownSelectors(url.searchParams);
        return url.searchParams.get('watch') === 'true'
          ? this.watch(target, url.searchParams, request.signal)
          : json(200, this.page(target, url.searchParams));
      case 'POST':
        return json(201, shown(this.storage.create(kind, key.namespace, bodyOf(request))));
      case 'PATCH':
        if (request.headers['content-type'] !== 'application/merge-patch+json') return text(415, 'only merge patches');
        return json(200, shown(this.storage.mergePatch(kind, key, bodyOf(request), subresource)));
      case 'DELETE': {
        const left = this.storage.delete(kind, key, recordAt(bodyOf(request), 'preconditions'));
        return json(200, left === undefined ? { kind: 'Status', apiVersion: 'v1', status: 'Success' } : shown(left));
      }
    }
  }

  private found(kind: FakeKind, key: ObjectKey): KubeObject {
    const object = this.storage.get(kind, key);
    if (object === undefined) throw new FakeStorageError(404, 'NotFound', `${kind.plural} "${key.name}" not found`);
    return object;
  }

  private route(path: string): Target | undefined {
    const match =
      /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>[^/]+))?$/.exec(
        path,
      );
    const { group = '', version = '', namespace = '', plural = '', name = '', subresource } = match?.groups ?? {};
    const kind = this.kinds.find(
      (one) => one.group === group && one.plural === plural && one.versions.includes(version),
    );
    if (kind === undefined) return undefined;
    return { kind, version, key: { namespace, name: decodeURIComponent(name) }, subresource };
  }

  private page({ kind, version, key }: Target, parameters: URLSearchParams): FakeJson {
    const token = parameters.get('continue');
    const limit = Number(parameters.get('limit') ?? 0);
    const started = token === null ? undefined : this.pages.get(token);
    if (token !== null && started === undefined)
      throw new FakeStorageError(
        410,
        'Expired',
        'The provided continue parameter is too old to display a consistent list result.',
      );
    const snapshot = started ?? {
      items: this.storage.list(kind, key.namespace).filter((object) => matchesSelector(parameters, object)),
      version: this.storage.newest,
    };
    const cut = limit > 0 && snapshot.items.length > limit ? limit : snapshot.items.length;
    const rest = snapshot.items.slice(cut);
    const next = rest.length === 0 ? undefined : this.random.uuid();
    if (next !== undefined) this.pages.set(next, { items: rest, version: snapshot.version });
    return {
      kind: `${kind.kind}List`,
      apiVersion: apiVersionOf(kind, version),
      metadata: { resourceVersion: String(snapshot.version), ...(next === undefined ? {} : { continue: next }) },
      items: snapshot.items.slice(0, cut).map((object) => inVersion(object, kind, version)),
    };
  }

  private watch(target: Target, parameters: URLSearchParams, signal: AbortSignal): TransportResponse {
    const watch: FakeWatch = new FakeWatch({
      server: this,
      clock: this.clock,
      target,
      parameters,
      signal,
      onClosed: () => this.watches.delete(watch),
    });
    if (watch.start()) this.watches.add(watch);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: watch.body };
  }
}

function bodyOf({ body = '' }: TransportRequest): FakeJson {
  // Like Go's JSON decoder, the server stores U+FFFD instead of half a surrogate pair.
  const value: unknown = JSON.parse(body, (_key, inner: unknown) =>
    typeof inner === 'string' ? inner.toWellFormed() : inner,
  );
  if (!isRecord(value)) throw new FakeStorageError(400, 'BadRequest', 'the body is no object');
  return value;
}

const refused = ({ code, reason, message }: FakeStorageError): TransportResponse =>
  json(code, newStatus(code, reason, message));

export function json(code: number, value: unknown, headers: Readonly<Record<string, string>> = {}): TransportResponse {
  return answerOf(code, JSON.stringify(value), { 'content-type': 'application/json', ...headers });
}

export function text(code: number, value: string, headers: Readonly<Record<string, string>> = {}): TransportResponse {
  return answerOf(code, value, { 'content-type': 'text/plain; charset=utf-8', ...headers });
}

function answerOf(code: number, value: string, headers: Readonly<Record<string, string>>): TransportResponse {
  return { status: code, headers, body: once(new TextEncoder().encode(value)) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
