import { createHash } from 'node:crypto';
import type { Clock, Ms } from '../../env/clock.ts';
import { Lru } from '../../collections/lru.ts';

// The rules of client-go's EventCorrelator (tools/record/events_cache.go), which keep a controller from flooding etcd.

/**
 * From the tenth different message on, the Events of one object, type and reason are combined into one. The count starts
 * anew after AGGREGATE_INTERVAL without such an Event.
 */
const AGGREGATE_MAX_EVENTS = 10;
const AGGREGATE_INTERVAL: Ms = 600_000;
/**
 * How many Events of one type about one object may be written without a pause, and the time after which one more is
 * allowed. client-go counts the Events of both types together.
 */
const SPAM_BURST = 25;
const SPAM_REFILL_PERIOD: Ms = 300_000;
const MAX_CACHE_ENTRIES = 4096;
/** The entries of so many deleted objects are removed together, because each removal reads all entries. */
const REMOVAL_BATCH = 50;

export interface EventOccurrence {
  readonly objectId: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The Event in the API server, whose count a further occurrence increases. */
export interface RecordedEvent {
  readonly name: string;
  readonly count: number;
  /** In RFC 3339. */
  readonly firstTimestamp: string;
}

/** Without `recorded` the API server has no such Event yet. */
export interface CorrelationResult {
  readonly id: string;
  readonly message: string;
  readonly recorded: RecordedEvent | undefined;
}

interface TokenBucket {
  readonly tokens: number;
  readonly at: Ms;
}

interface SimilarEvents {
  /** Digests. A Set with one of them would take five times as much memory as an array. */
  readonly messages: readonly string[];
  readonly lastAt: Ms;
}

export class EventCorrelator {
  private readonly clock: Clock;
  private readonly similar = new Lru<SimilarEvents>({ maxEntries: MAX_CACHE_ENTRIES });
  private readonly recorded = new Lru<RecordedEvent>({ maxEntries: MAX_CACHE_ENTRIES });
  private readonly buckets = new Lru<TokenBucket>({ maxEntries: MAX_CACHE_ENTRIES });
  /** The digests of deleted objects whose entries are still in the caches. */
  private readonly gone = new Set<string>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Undefined: too many Events of the same type were written about the same object. */
  correlate(occurrence: EventOccurrence): CorrelationResult | undefined {
    const { id, message } = this.aggregate(occurrence);
    if (!this.takeToken(idOf(occurrence.objectId, occurrence.type))) return undefined;
    return { id, message, recorded: this.recorded.get(id) };
  }

  /** Remembers an Event that the API server has accepted. */
  updateState(id: string, recorded: RecordedEvent): void {
    this.recorded.set(id, recorded);
  }

  forget(objectId: string): void {
    this.gone.add(digestOf(objectId).toString('base64'));
    if (this.gone.size < REMOVAL_BATCH) return;
    for (const cache of [this.similar, this.recorded, this.buckets])
      cache.deleteWhere((id) => this.gone.has(id.slice(0, ENCODED_DIGEST_LENGTH)));
    this.gone.clear();
  }

  private aggregate({ objectId, type, reason, message }: EventOccurrence): Omit<CorrelationResult, 'recorded'> {
    const now = this.clock.monotonic();
    const id = idOf(objectId, type, reason);
    const known = this.similar.get(id);
    const fresh = known === undefined || now - known.lastAt > AGGREGATE_INTERVAL ? [] : known.messages;
    const digest = digestOf(message).toString('base64');
    const messages = fresh.includes(digest) ? fresh : [...fresh, digest];
    if (messages.length < AGGREGATE_MAX_EVENTS) {
      this.similar.set(id, { messages, lastAt: now });
      return { id: idOf(objectId, type, reason, message), message };
    }
    // With the next new message there are AGGREGATE_MAX_EVENTS entries again.
    this.similar.set(id, { messages: messages.slice(1), lastAt: now });
    return { id, message: `(combined from similar events): ${message}` };
  }

  private takeToken(id: string): boolean {
    const now = this.clock.monotonic();
    const bucket = this.buckets.get(id) ?? { tokens: SPAM_BURST, at: now };
    const tokens = Math.min(SPAM_BURST, bucket.tokens + (now - bucket.at) / SPAM_REFILL_PERIOD);
    const isEnough = tokens >= 1;
    this.buckets.set(id, { tokens: isEnough ? tokens - 1 : tokens, at: now });
    return isEnough;
  }
}

/** In bytes and in base64 characters. Thousands of keys with whole messages would take megabytes. */
const DIGEST_LENGTH = 12;
const ENCODED_DIGEST_LENGTH = 16;

const digestOf = (text: string): Buffer =>
  createHash('shake256', { outputLength: DIGEST_LENGTH }).update(text).digest();

/** The key of a cache entry begins with the digest of the id of the object. */
const idOf = (objectId: string, ...parts: readonly string[]): string =>
  Buffer.concat([digestOf(objectId), digestOf(JSON.stringify(parts))]).toString('base64');
