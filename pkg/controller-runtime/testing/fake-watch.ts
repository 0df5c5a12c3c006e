import { textAt } from '../json/record.ts';
import type { Clock, Ms, Timer } from '../env/clock.ts';
import type { KubeObject, ObjectKey } from '../client/types.ts';
import { ByteStream } from './byte-stream.ts';
import {
  apiVersionOf,
  FakeStorageError,
  type FakeJson,
  type FakeKind,
  type FakeStorage,
  type StoredEvent,
} from './fake-storage.ts';

/** The time between two bookmarks of a watch: about a minute in kube-apiserver. */
const BOOKMARK_PERIOD: Ms = 60_000;

/** The kind or object to which a request path refers. */
export interface Target {
  readonly kind: FakeKind;
  readonly version: string;
  readonly key: ObjectKey;
  readonly subresource: string | undefined;
}

interface FakeWatchOptions {
  readonly server: {
    readonly storage: FakeStorage;
    /** The delay between a write and its watch event, which may change while the watch is open. */
    readonly watchLag: Ms;
  };
  readonly clock: Clock;
  readonly target: Target;
  readonly parameters: URLSearchParams;
  readonly signal: AbortSignal;
  readonly onClosed: () => void;
}

/** A watch of FakeApiServer, with the semantics of kube-apiserver's watch cache. */
export class FakeWatch {
  readonly body: ByteStream;
  private readonly options: FakeWatchOptions;
  private readonly timers = new Set<Timer>();
  /** The resourceVersion of the request. */
  private readonly from: number;
  /** The number of events that `watchLag` still delays. */
  private delayed = 0;
  /** When the latest event was or will be sent. */
  private lastSentAt: Ms = 0;

  constructor(options: FakeWatchOptions) {
    this.options = options;
    this.from = Number(options.parameters.get('resourceVersion'));
    this.body = new ByteStream(options.signal, () => {
      options.onClosed();
      for (const timer of this.timers) timer.cancel();
    });
  }

  get kind(): FakeKind {
    return this.options.target.kind;
  }

  /**
   * Sends the events after the resourceVersion of the request. If this resourceVersion has expired, closes the watch
   * and returns `false`.
   */
  start(): boolean {
    const { storage } = this.options.server;
    const { parameters } = this.options;
    // As in kube-apiserver's watch cache, an expired resourceVersion causes an ERROR event and not an HTTP error.
    if (storage.isCompacted(this.from)) {
      this.writeEvent('ERROR', newStatus(410, 'Expired', `too old resource version: ${this.from} (${storage.newest})`));
      this.body.end();
      return false;
    }
    for (const event of storage.since(this.kind, this.from)) this.deliver(event);
    this.after(Number(parameters.get('timeoutSeconds')) * 1000, () => this.body.end());
    if (parameters.get('allowWatchBookmarks') === 'true') this.after(BOOKMARK_PERIOD, () => this.sendBookmark());
    return true;
  }

  deliver(event: StoredEvent): void {
    // As in kube-apiserver's watch cache, a request can have a future resourceVersion. The watch then skips the events
    // up to this version.
    if (Number(event.object.metadata.resourceVersion) <= this.from) return;
    const now = this.options.clock.monotonic();
    // Events are sent in the order of the writes, even when the test shortens `watchLag` between two writes.
    this.lastSentAt = Math.max(this.lastSentAt, now + this.options.server.watchLag);
    if (this.lastSentAt <= now) return this.send(event);
    this.delayed += 1;
    this.after(this.lastSentAt - now, () => {
      this.delayed -= 1;
      this.send(event);
    });
  }

  /** Closes the watch, or breaks its connection with `error`. */
  end(error?: unknown): void {
    if (error === undefined) this.body.end();
    else this.body.break(error);
  }

  private send(event: StoredEvent): void {
    const type = typeFor(event, this.options.target.key.namespace, this.options.parameters);
    if (type !== undefined) this.writeEvent(type, this.inTargetVersion(event.object));
  }

  private sendBookmark(): void {
    const { kind, version } = this.options.target;
    const { newest } = this.options.server.storage;
    // A bookmark must not be sent before an event that `watchLag` delays.
    if (this.delayed === 0 && newest >= this.from)
      this.writeEvent('BOOKMARK', {
        kind: kind.kind,
        apiVersion: apiVersionOf(kind, version),
        metadata: { resourceVersion: String(newest) },
      });
    this.after(BOOKMARK_PERIOD, () => this.sendBookmark());
  }

  private writeEvent(type: string, object: unknown): void {
    this.body.write(`${JSON.stringify({ type, object })}\n`);
  }

  private inTargetVersion(object: KubeObject): KubeObject {
    return inVersion(object, this.kind, this.options.target.version);
  }

  private after(delay: Ms, fire: () => void): void {
    const timer = this.options.clock.after(delay, () => {
      this.timers.delete(timer);
      fire();
    });
    this.timers.add(timer);
  }
}

/** Returns the event type of a change for a watch; `undefined` if the watch does not get the change. */
function typeFor(event: StoredEvent, namespace: string, parameters: URLSearchParams): StoredEvent['type'] | undefined {
  const isSeen = (object: KubeObject | undefined): boolean =>
    object !== undefined &&
    (namespace === '' || object.metadata.namespace === namespace) &&
    matchesSelector(parameters, object);
  const was = isSeen(event.previous);
  const is = event.type !== 'DELETED' && isSeen(event.object);
  if (was && is) return 'MODIFIED';
  if (is) return 'ADDED';
  return was ? 'DELETED' : undefined;
}

export const inVersion = (object: KubeObject, kind: FakeKind, version: string): KubeObject => ({
  ...object,
  apiVersion: apiVersionOf(kind, version),
});

export const newStatus = (code: number, reason: string, message: string): FakeJson => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
});

/**
 * Reports whether an object matches the `labelSelector` (`a=b`, `a!=b`, `a`, joined by commas) and the `fieldSelector`
 * (only metadata.name and involvedObject.uid) of a request.
 */
export function matchesSelector(parameters: URLSearchParams, object: KubeObject): boolean {
  const fields = Object.fromEntries(Object.entries(FIELDS).map(([name, read]) => [name, read(object)]));
  const labels = object.metadata.labels ?? {};
  return fits(parameters.get('labelSelector'), labels) && fits(parameters.get('fieldSelector'), fields);
}

const FIELDS: Readonly<Record<string, (object: KubeObject) => string | undefined>> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'involvedObject.uid': (object) => textAt(object['involvedObject'], 'uid'),
};

/** Refuses a request whose selectors {@link matchesSelector} would misunderstand, so that a test fails. */
export function refuseUnknownSelectors(parameters: URLSearchParams): void {
  const fields = requirementsIn(parameters.get('fieldSelector'));
  const isKnown = (text: string): boolean => Object.hasOwn(FIELDS, REQUIREMENT.exec(text)?.[1] ?? '');
  const unknown =
    requirementsIn(parameters.get('labelSelector')).find((text) => !REQUIREMENT.test(text)) ??
    fields.find((text) => !isKnown(text));
  if (unknown !== undefined)
    throw new FakeStorageError(400, 'BadRequest', `the fake API server does not support the selector ${unknown}`);
}

const REQUIREMENT = /^([\w./-]+)(?:(!?=)([^=]*))?$/;

const requirementsIn = (selector: string | null): readonly string[] =>
  (selector ?? '').split(',').filter((requirement) => requirement !== '');

const fits = (selector: string | null, values: Readonly<Record<string, string | undefined>>): boolean =>
  requirementsIn(selector).every((requirement) => {
    const [, name = '', operator, value] = REQUIREMENT.exec(requirement) ?? [];
    if (operator === undefined) return values[name] !== undefined;
    return (values[name] === value) === (operator !== '!=');
  });
