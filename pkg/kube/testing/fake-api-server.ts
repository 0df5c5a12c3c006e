import type { Clock, Ms, Timer } from '../../env/clock.ts';
import { sleep } from '../../env/deadline.ts';
import type { Random } from '../../env/random.ts';
import type { Transport, TransportRequest, TransportResponse } from '../transport.ts';
import type { KubeObject, ObjectKey } from '../types.ts';
import { ByteStream } from './byte-stream.ts';
import { BUILT_IN, discoveryDocument } from './fake-kinds.ts';
import { selects } from './fake-selectors.ts';
import {
  FakeStorage,
  isRecord,
  idOf,
  recordAt,
  Refusal,
  type FakeKind,
  type Json,
  type StoredEvent,
} from './fake-storage.ts';

export type { FakeKind } from './fake-storage.ts';

/** kube-apiserver sends a bookmark about once a minute. */
const BOOKMARK_PERIOD: Ms = 60_000;
/** kube-apiserver's --min-request-timeout: how long a watch lasts that names no timeout. */
const DEFAULT_WATCH_SECONDS = 1800;

export interface FakeApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Besides Namespace, Secret, Event, Lease. */
  readonly kinds?: readonly FakeKind[];
}

/** What a test does instead of, or before, the server's answer: nothing (`undefined`), an answer, or an error to throw. */
export type Intercept = (
  request: TransportRequest,
) => undefined | TransportResponse | Error | Promise<undefined | TransportResponse | Error>;

export interface LoggedRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** When, monotonic. */
  readonly at: Ms;
}

interface Watcher {
  readonly kind: FakeKind;
  readonly deliver: (event: StoredEvent) => void;
  readonly end: (error?: unknown) => void;
}

interface Target {
  readonly kind: FakeKind;
  readonly version: string;
  readonly key: ObjectKey;
  readonly subresource: string | undefined;
}

/**
 * An API server in the process, behind the client's transport: stateful, with the semantics that controllers lean on
 * (resourceVersion and 409, generation, uid, status apart, finalizers and deletionTimestamp, paged lists, watches with
 * bookmarks, 410, discovery). Its only timers are the injected clock's. Not in it: authentication, authorisation, server
 * side apply, strategic merge patches, schema validation (see {@link FakeKind.refuse}), garbage collection.
 */
export class FakeApiServer implements Transport {
  readonly host = 'kubernetes.test';
  readonly storage: FakeStorage;
  /** All requests so far. */
  readonly requests: LoggedRequest[] = [];
  /** How long each request takes to be looked at. */
  latency: Ms = 0;
  /** How much later than the write a watch shows it. */
  watchLag: Ms = 0;
  intercept: Intercept = () => undefined;
  private readonly clock: Clock;
  private readonly random: Random;
  private readonly watchers = new Set<Watcher>();
  private kinds: readonly FakeKind[];
  /** The rest of paged lists, by continue token. */
  private readonly pages = new Map<string, { readonly items: readonly KubeObject[]; readonly version: number }>();

  constructor({ clock, random, kinds = [] }: FakeApiServerOptions) {
    this.clock = clock;
    this.random = random;
    this.kinds = [...BUILT_IN, ...kinds];
    this.storage = new FakeStorage(clock, random);
    this.storage.listen((event) => {
      for (const watcher of this.watchers) if (idOf(watcher.kind) === idOf(event.kind)) watcher.deliver(event);
    });
  }

  /** The kind of a plural, e.g. to write to {@link storage} as another client would. */
  kind(plural: string): FakeKind {
    const found = this.kinds.find((kind) => kind.plural === plural);
    if (found === undefined) throw new RangeError(`the fake API server has no ${plural}`);
    return found;
  }

  /** Installs a kind, or serves it under other versions; objects and open watches of it stay. */
  serve(kind: FakeKind): void {
    this.kinds = [...this.kinds.filter((one) => one.plural !== kind.plural || one.group !== kind.group), kind];
  }

  /** Takes a CRD away as far as clients see it: watches end, the path is a 404. */
  unserve(plural: string): void {
    const gone = this.kind(plural);
    this.kinds = this.kinds.filter((kind) => kind !== gone);
    for (const watcher of this.watchers) if (watcher.kind === gone) watcher.end();
  }

  /** Ends all watches in good order (no `error`), or breaks their connections. */
  endWatches(error?: Error): void {
    for (const watcher of this.watchers) watcher.end(error);
  }

  get openWatches(): number {
    return this.watchers.size;
  }

  /** Makes all continue tokens and versions before now too old. */
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
      if (error instanceof Refusal) return refused(error);
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
    switch (request.method) {
      case 'GET':
        if (key.name !== '') return json(200, shown(this.found(kind, key)));
        return url.searchParams.get('watch') === 'true'
          ? this.watch(target, url.searchParams, request.signal)
          : json(200, this.page(target, url.searchParams));
      case 'POST':
        return json(201, shown(this.storage.create(kind, key.namespace, bodyOf(request))));
      case 'PUT':
        return json(200, shown(this.storage.replace(kind, key, bodyOf(request), subresource)));
      case 'PATCH':
        if (request.headers['content-type'] !== 'application/merge-patch+json') return text(415, 'only merge patches');
        return json(200, shown(this.storage.mergePatch(kind, key, bodyOf(request), subresource)));
      case 'DELETE': {
        const left = this.storage.delete(
          kind,
          key,
          recordAt(request.body === undefined ? {} : bodyOf(request), 'preconditions'),
        );
        return json(200, left === undefined ? { kind: 'Status', apiVersion: 'v1', status: 'Success' } : shown(left));
      }
    }
  }

  private found(kind: FakeKind, key: ObjectKey): KubeObject {
    const object = this.storage.get(kind, key);
    if (object === undefined) throw new Refusal(404, 'NotFound', `${kind.plural} "${key.name}" not found`);
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

  private page({ kind, version, key }: Target, parameters: URLSearchParams): Json {
    const token = parameters.get('continue');
    const limit = Number(parameters.get('limit') ?? 0);
    const started = token === null ? undefined : this.pages.get(token);
    if (token !== null && started === undefined)
      throw new Refusal(
        410,
        'Expired',
        'The provided continue parameter is too old to display a consistent list result.',
      );
    const snapshot = started ?? {
      items: this.storage.list(kind, key.namespace).filter((object) => selects(parameters, object)),
      version: this.storage.newest,
    };
    const cut = limit > 0 && snapshot.items.length > limit ? limit : snapshot.items.length;
    const rest = snapshot.items.slice(cut);
    const next = rest.length === 0 ? undefined : this.random.uuid();
    if (next !== undefined) this.pages.set(next, { items: rest, version: snapshot.version });
    return {
      kind: `${kind.kind}List`,
      apiVersion: kind.group === '' ? version : `${kind.group}/${version}`,
      metadata: { resourceVersion: String(snapshot.version), ...(next === undefined ? {} : { continue: next }) },
      items: snapshot.items.slice(0, cut).map((object) => inVersion(object, kind, version)),
    };
  }

  private watch({ kind, version, key }: Target, parameters: URLSearchParams, signal: AbortSignal): TransportResponse {
    const timers = new Set<Timer>();
    const body = new ByteStream(signal, () => {
      this.watchers.delete(watcher);
      for (const timer of timers) timer.cancel();
    });
    const after = (delay: Ms, fire: () => void): void => {
      const timer = this.clock.after(delay, () => {
        timers.delete(timer);
        fire();
      });
      timers.add(timer);
    };
    const line = (type: string, object: unknown): void => body.write(`${JSON.stringify({ type, object })}\n`);
    const show = (event: StoredEvent): void => {
      const type = typeFor(event, key.namespace, parameters);
      if (type !== undefined) line(type, inVersion(event.object, kind, version));
    };
    // In their order, also when the lag becomes shorter between two of them.
    let underWay = 0;
    let arrives: Ms = 0;
    const from = Number(parameters.get('resourceVersion') ?? 0);
    const deliver = (event: StoredEvent): void => {
      // As the watch cache: whoever claims to have seen more than there is hears nothing until there is more.
      if (Number(event.object.metadata.resourceVersion) <= from) return;
      const now = this.clock.monotonic();
      arrives = Math.max(arrives, now + this.watchLag);
      if (arrives <= now) return show(event);
      underWay += 1;
      after(arrives - now, () => {
        underWay -= 1;
        show(event);
      });
    };
    const watcher: Watcher = { kind, deliver, end: (error) => (error === undefined ? body.end() : body.break(error)) };
    const ok: TransportResponse = { status: 200, headers: { 'content-type': 'application/json' }, body };
    // As the watch cache: past authorisation, refusals come as an event of a stream that was accepted.
    if (from > 0 && this.storage.isCompacted(from)) {
      line('ERROR', status(410, 'Expired', `too old resource version: ${from} (${this.storage.newest})`));
      body.end();
      return ok;
    }
    this.watchers.add(watcher);
    if (from === 0) {
      for (const object of this.storage.list(kind, key.namespace))
        if (selects(parameters, object)) line('ADDED', inVersion(object, kind, version));
    } else for (const event of this.storage.since(kind, from)) deliver(event);
    const bookmark = (): void => {
      // Never beyond what is still on its way.
      if (underWay === 0 && this.storage.newest >= from)
        line('BOOKMARK', {
          kind: kind.kind,
          apiVersion: kind.group === '' ? version : `${kind.group}/${version}`,
          metadata: { resourceVersion: String(this.storage.newest) },
        });
      after(BOOKMARK_PERIOD, bookmark);
    };
    after(Number(parameters.get('timeoutSeconds') ?? DEFAULT_WATCH_SECONDS) * 1000, () => body.end());
    if (parameters.get('allowWatchBookmarks') === 'true') after(BOOKMARK_PERIOD, bookmark);
    return ok;
  }
}

/** As what a watch with a namespace and selectors shows an event; `undefined`: not at all. */
function typeFor(event: StoredEvent, namespace: string, parameters: URLSearchParams): StoredEvent['type'] | undefined {
  const isSeen = (object: KubeObject | undefined): boolean =>
    object !== undefined &&
    (namespace === '' || object.metadata.namespace === namespace) &&
    selects(parameters, object);
  const was = isSeen(event.previous);
  const is = event.type !== 'DELETED' && isSeen(event.object);
  if (was && is) return 'MODIFIED';
  if (is) return 'ADDED';
  return was ? 'DELETED' : undefined;
}

function inVersion(object: KubeObject, kind: FakeKind, version: string): KubeObject {
  return { ...object, apiVersion: kind.group === '' ? version : `${kind.group}/${version}` };
}

function bodyOf({ body = '' }: TransportRequest): Json {
  const value: unknown = JSON.parse(body);
  if (!isRecord(value)) throw new Refusal(400, 'BadRequest', 'the body is no object');
  return value;
}

const status = (code: number, reason: string, message: string): Json => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
});

const refused = ({ code, reason, message }: Refusal): TransportResponse => json(code, status(code, reason, message));

/** An answer, also for tests to inject. */
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
