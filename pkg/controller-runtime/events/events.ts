import type { Clock, Ms } from '../env/clock.ts';
import { aborted, DeadlineExceeded, pause, sleep, untilAborted } from '../async/deadline.ts';
import type { LogKeys, Logger } from '../log/logger.ts';
import { toPrintableLine } from '../text/printable.ts';
import type { Random } from '../env/random.ts';
import { formatTimestamp } from '../env/timestamp.ts';
import { KubeError, isAlreadyExists, isNoAnswer, isNotFound } from '../client/errors.ts';
import { EventCorrelator, type CorrelationResult } from './event-correlator.ts';
import { keyOf, keyText } from '../client/object-key.ts';
import type { KubeClient, KubeObject, Resource } from '../client/types.ts';

// The manager writes Events of core/v1, as Cluster API's managers do. `kubectl describe` finds them by
// involvedObject.uid.
const EVENTS: Resource = { group: '', version: 'v1', plural: 'events' };

/** The largest number of queued events. Further events are discarded. This value and the next two are client-go's. */
const MAX_QUEUED = 1000;
const MAX_ATTEMPTS = 12;
const RETRY_DELAY: Ms = 10_000;
/** How long queued events are written after the manager's signal to stop. */
const FLUSH_DEADLINE: Ms = 5_000;
/** The longest message, in bytes. The API server enforces this limit only for Events with an eventTime. */
const MAX_MESSAGE = 1024;
/** The name of an Event has at most 253 characters. Its suffix, a dot and 16 hexadecimal digits, takes 17 of them. */
const MAX_OBJECT_NAME = 236;

export type EventType = 'Normal' | 'Warning';

export type InvolvedObject = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;

export interface EventRecorder {
  /** Queues an Event about `object` and returns immediately. Never throws. */
  record(object: InvolvedObject, type: EventType, reason: string, message: string): void;
}

export interface EventWriterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The component, which `kubectl describe` shows as `From`. */
  readonly component: string;
  /** This replica's name, such as its pod's. */
  readonly instance?: string;
}

interface Queued {
  readonly object: InvolvedObject;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  /** In ms since 1970. */
  readonly at: Ms;
}

/**
 * Writes Events in the background, one after the other. After the signal aborts, it writes the queued Events for at
 * most five seconds.
 */
export class EventWriter implements EventRecorder {
  readonly name = 'events';
  private readonly options: EventWriterOptions;
  private readonly correlator: EventCorrelator;
  private readonly queue: Queued[] = [];
  private wake: (() => void) | undefined;
  /** The number in the newest Event name. */
  private lastNumber = 0n;
  private hasEnded = false;

  constructor(options: EventWriterOptions) {
    this.options = options;
    this.correlator = new EventCorrelator(options.clock);
  }

  record(object: InvolvedObject, type: EventType, reason: string, message: string): void {
    const shown = truncateMessage(toPrintableLine(message));
    const queued = { object, type, reason, message: shown, at: this.options.clock.now() };
    if (this.hasEnded || this.queue.length >= MAX_QUEUED) {
      const why = this.hasEnded ? 'the manager has stopped' : 'too many are waiting';
      this.options.logger.warn('An event was dropped', { ...keysOf(queued), why });
      return;
    }
    this.queue.push(queued);
    this.wake?.();
  }

  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.options;
    const end = new AbortController();
    const limit = async (): Promise<void> => {
      await untilAborted(end.signal, () => aborted(stop));
      await sleep(clock, FLUSH_DEADLINE, end.signal);
      end.abort(new DeadlineExceeded('writing the last events', FLUSH_DEADLINE));
    };
    limit().catch(() => {});
    for (let next = await this.takeNext(stop); next !== undefined; next = await this.takeNext(stop)) {
      await this.writeWithRetries(next, stop, end.signal);
      if (end.signal.aborted) break;
    }
    this.hasEnded = true;
    end.abort(new Error('all events are written'));
    if (this.queue.length > 0) logger.warn('Events were dropped at the stop', { count: this.queue.length });
  }

  /** Waits for an event. Returns `undefined` when the signal has aborted and the queue is empty. */
  private async takeNext(stop: AbortSignal): Promise<Queued | undefined> {
    while (this.queue.length === 0 && !stop.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      await untilAborted(stop, () => promise).catch(() => {});
    }
    return this.queue.shift();
  }

  private async writeWithRetries(queued: Queued, stop: AbortSignal, end: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.options;
    const { object, type, reason, message } = queued;
    const result = this.correlator.correlate({ objectId: idOf(object), type, reason, message });
    if (result === undefined) return;
    // Every attempt uses the same name, so that an Event whose response was lost is not stored twice.
    let eventName: string | undefined;
    const name = (): string => (eventName ??= this.newName(queued));
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.writeOnce(queued, result, name, end);
      } catch (error) {
        if (isNamespaceTerminating(error)) return logger.debug('The API server refused an event', keysOf(queued));
        if (attempt === MAX_ATTEMPTS || stop.aborted || !isRetryable(error))
          return logger.error('Writing an event failed', error, keysOf(queued));
      }
      // Managers that lost the same API server must not write to it again at the same time.
      await pause(clock, attempt === 1 ? RETRY_DELAY * random.next() : RETRY_DELAY, stop);
    }
  }

  private async writeOnce(
    queued: Queued,
    { id, recorded }: CorrelationResult,
    name: () => string,
    signal: AbortSignal,
  ): Promise<void> {
    const count = (recorded?.count ?? 0) + 1;
    const lastTimestamp = formatTimestamp(queued.at);
    if (recorded !== undefined) {
      const isPatched = await this.patchEvent(queued, recorded.name, { count, lastTimestamp }, signal);
      if (isPatched) return this.correlator.updateState(id, { ...recorded, count });
    }
    const firstTimestamp = recorded?.firstTimestamp ?? lastTimestamp;
    const event = this.newEvent(queued, name(), { count, firstTimestamp, lastTimestamp });
    await this.createEvent(queued, event, signal);
    this.correlator.updateState(id, { name: name(), count, firstTimestamp });
  }

  /** Returns `false` if the Event does not exist anymore, because the API server removes Events after an hour. */
  private async patchEvent({ object }: Queued, name: string, patch: unknown, signal: AbortSignal): Promise<boolean> {
    try {
      await this.options.client.mergePatch(EVENTS, { namespace: namespaceOf(object), name }, patch, { signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  private async createEvent({ object }: Queued, event: unknown, signal: AbortSignal): Promise<void> {
    try {
      await this.options.client.create(EVENTS, namespaceOf(object), event, { signal });
    } catch (error) {
      // An Event that already exists was created by an earlier attempt.
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /**
   * Returns `name.<nanoseconds in hex>`, as in client-go, with random digits below a millisecond. The number always
   * increases, because `kubectl describe` sorts the Events of one second by name.
   */
  private newName({ object, at }: Queued): string {
    const nanoseconds =
      BigInt(Math.floor(at)) * 1_000_000n + BigInt(Math.floor(this.options.random.next() * 1_000_000));
    this.lastNumber = nanoseconds > this.lastNumber ? nanoseconds : this.lastNumber + 1n;
    return `${beginningOf(object.metadata.name)}.${this.lastNumber.toString(16)}`;
  }

  private newEvent(
    { object, type, reason, message }: Queued,
    eventName: string,
    times: { readonly count: number; readonly firstTimestamp: string; readonly lastTimestamp: string },
  ): Readonly<Record<string, unknown>> {
    const { component, instance = '' } = this.options;
    const { apiVersion, kind, metadata } = object;
    const { name, namespace, uid, resourceVersion } = metadata;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: eventName, namespace: namespaceOf(object) },
      involvedObject: { apiVersion, kind, name, namespace, uid, resourceVersion },
      type,
      reason,
      message,
      ...times,
      source: { component, ...(instance !== '' && { host: instance }) },
      reportingComponent: component,
      reportingInstance: instance,
    };
  }
}

/** The API server accepts Events about cluster-scoped objects only in the namespace `default`. */
const namespaceOf = ({ metadata }: InvolvedObject): string => metadata.namespace ?? 'default';

const idOf = ({ apiVersion, kind, metadata }: InvolvedObject): string =>
  [apiVersion, kind, keyText(keyOf({ metadata })), metadata.uid].join(' ');

const keysOf = ({ object, reason, message }: Queued): LogKeys => ({
  object: keyText(keyOf(object)),
  kind: object.kind,
  reason,
  message,
});

/** The Event cannot be created because its namespace is being deleted. Users cannot fix this error. */
const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof KubeError && error.causes.includes('NamespaceTerminating');

const isRetryable = (error: unknown): boolean =>
  isNoAnswer(error) || (error instanceof KubeError && (error.status === 429 || error.status >= 500));

/** Returns a prefix that fits into an Event's name. It does not end with `-` or `.`, because a dot follows it. */
function beginningOf(name: string): string {
  let end = Math.min(name.length, MAX_OBJECT_NAME);
  while (end < name.length && '-.'.includes(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
}

function truncateMessage(message: string): string {
  if (Buffer.byteLength(message) <= MAX_MESSAGE) return message;
  const ellipsis = '…';
  const kept = Buffer.from(message).subarray(0, MAX_MESSAGE - Buffer.byteLength(ellipsis));
  // The limit can split a character. Its leftover bytes are decoded to a replacement character, which is dropped here.
  return kept.toString('utf8').replace(/\uFFFD$/, '') + ellipsis;
}
