import type { Clock, Ms, Timer } from '../env/clock.ts';
import { DeadlineExceeded, sleep } from '../env/deadline.ts';
import type { LogKeys, Logger } from '../env/logger.ts';
import type { Random } from '../env/random.ts';
import { formatTimestamp } from '../env/timestamp.ts';
import { KubeError, isAlreadyExists, isNoAnswer, isNotFound } from './errors.ts';
import { EventCorrelator, type Verdict } from './event-correlator.ts';
import { keyOf, keyText } from './paths.ts';
import type { KubeClient, KubeObject, Resource } from './types.ts';

// core/v1 Events, as Cluster API's managers write them: `kubectl describe` finds these by involvedObject.uid.
const EVENTS: Resource = { group: '', version: 'v1', plural: 'events' };

/** client-go: more than these waiting to be written, and new ones are dropped. */
const MAX_QUEUED = 1000;
/** client-go: how often an event is tried when the server gives no verdict, and the pause between. */
const MAX_TRIES = 12;
const RETRY_PAUSE: Ms = 10_000;
/** What is still queued when the manager stops gets this long. */
const FLUSH_DEADLINE: Ms = 5_000;
/** The API server's bound for the note of an Event, in bytes. */
const MAX_MESSAGE = 1024;
/** A name may have 253 characters, of which the time takes 17. */
const MAX_OBJECT_NAME = 236;

export type EventType = 'Normal' | 'Warning';

/** What an event is about. Any {@link KubeObject} will do. */
export type InvolvedObject = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;

export interface EventRecorder {
  /** Queues an Event about `object`. Never throws and never waits. */
  record(object: InvolvedObject, type: EventType, reason: string, message: string): void;
}

export interface EventWriterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Shown as `From` by `kubectl describe`. */
  readonly component: string;
  /** The manager's own name, e.g. its pod's. */
  readonly instance?: string;
}

interface Queued {
  readonly object: InvolvedObject;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  /** Wall clock. */
  readonly at: Ms;
}

/**
 * Writes Events in the background, one after the other. A failure to write one is logged and hurts nobody. `run` ends
 * after its signal has aborted and what was queued is written, within five seconds.
 */
export class EventWriter implements EventRecorder {
  readonly name = 'events';
  readonly needsLeadership = false;
  private readonly options: EventWriterOptions;
  private readonly correlator: EventCorrelator;
  private readonly queue: Queued[] = [];
  private wake: (() => void) | undefined;
  /** The number in the name of the last event. */
  private lastName = 0n;
  private isOver = false;

  constructor(options: EventWriterOptions) {
    this.options = options;
    this.correlator = new EventCorrelator(options.clock);
  }

  record(object: InvolvedObject, type: EventType, reason: string, message: string): void {
    const queued = { object, type, reason, message: shorten(message), at: this.options.clock.now() };
    if (this.isOver || this.queue.length >= MAX_QUEUED) {
      const why = this.isOver ? 'the manager has stopped' : 'too many are waiting';
      this.options.logger.warn('An event was dropped', { ...keysOf(queued), why });
      return;
    }
    this.queue.push(queued);
    this.wake?.();
  }

  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.options;
    const end = new AbortController();
    let timer: Timer | undefined;
    const onStop = (): void => {
      timer = clock.after(FLUSH_DEADLINE, () =>
        end.abort(new DeadlineExceeded('writing the last events', FLUSH_DEADLINE)),
      );
    };
    if (stop.aborted) onStop();
    else stop.addEventListener('abort', onStop, { once: true });
    for (let next = await this.take(stop); next !== undefined; next = await this.take(stop)) {
      await this.write(next, stop, end.signal);
      if (end.signal.aborted) break;
    }
    this.isOver = true;
    timer?.cancel();
    if (this.queue.length > 0) logger.warn('Events were dropped at the stop', { count: this.queue.length });
  }

  /** The next one to write; `undefined` when the signal has aborted and the queue is empty. */
  private async take(stop: AbortSignal): Promise<Queued | undefined> {
    while (this.queue.length === 0 && !stop.aborted) {
      await new Promise<void>((resolve) => {
        const go = (): void => {
          stop.removeEventListener('abort', go);
          this.wake = undefined;
          resolve();
        };
        stop.addEventListener('abort', go, { once: true });
        this.wake = go;
      });
    }
    return this.queue.shift();
  }

  private async write(queued: Queued, stop: AbortSignal, end: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.options;
    const { object, type, reason, message } = queued;
    const verdict = this.correlator.judge({ objectId: idOf(object), type, reason, message });
    if (verdict.kind === 'drop') return;
    // The same at each try: one whose answer was lost may have been written.
    let drawn: string | undefined;
    const name = (): string => (drawn ??= this.newName(queued));
    for (let tries = 1; ; tries++) {
      try {
        return await this.send(queued, verdict, name, end);
      } catch (error) {
        if (isExpectedRefusal(error)) return logger.debug('The API server refused an event', keysOf(queued));
        if (tries === MAX_TRIES || stop.aborted || !isWorthRetrying(error))
          return logger.error('Writing an event failed', error, keysOf(queued));
      }
      // The first pause is random, so that managers that lost the same server do not come back together.
      await sleep(clock, tries === 1 ? RETRY_PAUSE * random.next() : RETRY_PAUSE, stop).catch(() => {});
    }
  }

  private async send(
    queued: Queued,
    verdict: Exclude<Verdict, { kind: 'drop' }>,
    name: () => string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.options;
    const { id, message } = verdict;
    const namespace = namespaceOf(queued.object);
    const now = formatTimestamp(queued.at);
    const recorded = verdict.kind === 'update' ? verdict.recorded : undefined;
    const firstTimestamp = recorded?.firstTimestamp ?? now;
    const count = (recorded?.count ?? 0) + 1;
    if (recorded !== undefined) {
      try {
        await client.mergePatch(
          EVENTS,
          { namespace, name: recorded.name },
          { count, lastTimestamp: now, message },
          { signal },
        );
        return this.correlator.remember(id, { ...recorded, count });
      } catch (error) {
        // Events are gone after an hour: it is told anew.
        if (!isNotFound(error)) throw error;
      }
    }
    const event = this.newEvent(queued, name(), message, { count, firstTimestamp, lastTimestamp: now });
    try {
      await client.create(EVENTS, namespace, event, { signal });
    } catch (error) {
      // No other has this name: it was written by a try before.
      if (!isAlreadyExists(error)) throw error;
    }
    this.correlator.remember(id, { name: name(), count, firstTimestamp });
  }

  /**
   * As client-go, `name.<time in hex>`, but the nanoseconds that no JavaScript clock has are drawn; and always more than the
   * last, since `kubectl describe` shows the events of one second in the order of their names.
   */
  private newName({ object, at }: Queued): string {
    const drawn = BigInt(Math.floor(at)) * 1_000_000n + BigInt(Math.floor(this.options.random.next() * 1_000_000));
    this.lastName = drawn > this.lastName ? drawn : this.lastName + 1n;
    return `${object.metadata.name.slice(0, MAX_OBJECT_NAME)}.${this.lastName.toString(16)}`;
  }

  private newEvent(
    { object, type, reason }: Queued,
    eventName: string,
    message: string,
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
      source: { component, ...(instance === '' ? {} : { host: instance }) },
      reportingComponent: component,
      reportingInstance: instance,
    };
  }
}

/** Events of cluster-scoped objects are kept where kubectl looks for them. */
const namespaceOf = ({ metadata }: InvolvedObject): string => metadata.namespace ?? 'default';

const idOf = ({ apiVersion, kind, metadata }: InvolvedObject): string =>
  [apiVersion, kind, keyText(keyOf({ metadata })), metadata.uid].join(' ');

const keysOf = ({ object, reason, message }: Queued): LogKeys => ({
  object: keyText(keyOf(object)),
  kind: object.kind,
  reason,
  message,
});

/** In a namespace that is being deleted nothing can be created: every controller meets that, and nobody can act on it. */
const isExpectedRefusal = (error: unknown): boolean =>
  error instanceof KubeError && error.causes.includes('NamespaceTerminating');

const isWorthRetrying = (error: unknown): boolean =>
  isNoAnswer(error) || (error instanceof KubeError && (error.status === 429 || error.status >= 500));

function shorten(message: string): string {
  if (Buffer.byteLength(message) <= MAX_MESSAGE) return message;
  const ellipsis = '…';
  const kept = Buffer.from(message).subarray(0, MAX_MESSAGE - Buffer.byteLength(ellipsis));
  // A character that the cut went through comes out as a replacement character.
  return kept.toString('utf8').replace(/\uFFFD$/, '') + ellipsis;
}
