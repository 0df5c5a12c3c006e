import { createHash } from 'node:crypto';
import type { Clock, Ms } from '../env/clock.ts';
import { Lru } from '../collections/lru.ts';

// Counts and limits Events as client-go's EventCorrelator does (tools/record/events_cache.go), so that a controller
// does not flood etcd. Unlike client-go, this correlator does not combine similar messages, because the limit per
// object bounds them too.

/**
 * How many Events of one type about one object can be written without a pause, and the time after which one more is
 * allowed. client-go counts the Events of both types together.
 */
const SPAM_BURST = 25;
const SPAM_REFILL_PERIOD: Ms = 300_000;
const MAX_CACHE_ENTRIES = 4096;

export interface EventOccurrence {
  readonly objectId: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** An Event in the API server. Each further occurrence increases its count there. */
export interface RecordedEvent {
  readonly name: string;
  readonly count: number;
  /** The time of the first event of the series, in RFC 3339. */
  readonly firstTimestamp: string;
}

/** If `recorded` is `undefined`, this process has not written the Event to the API server yet. */
export interface CorrelationResult {
  readonly id: string;
  readonly recorded: RecordedEvent | undefined;
}

interface TokenBucket {
  readonly tokens: number;
  readonly at: Ms;
}

export class EventCorrelator {
  private readonly clock: Clock;
  private readonly recorded = new Lru<RecordedEvent>({ maxEntries: MAX_CACHE_ENTRIES });
  private readonly buckets = new Lru<TokenBucket>({ maxEntries: MAX_CACHE_ENTRIES });

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Returns undefined if too many Events of the same type were written about the same object. */
  correlate({ objectId, type, reason, message }: EventOccurrence): CorrelationResult | undefined {
    if (!this.takeToken(idOf(objectId, type))) return undefined;
    const id = idOf(objectId, type, reason, message);
    return { id, recorded: this.recorded.get(id) };
  }

  /** Called when the API server has accepted an Event. */
  updateState(id: string, recorded: RecordedEvent): void {
    this.recorded.set(id, recorded);
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

/** A digest's size, in bytes. Keys are digests, because thousands of keys with whole messages would take megabytes. */
const DIGEST_LENGTH = 12;

const idOf = (...parts: readonly string[]): string =>
  createHash('shake256', { outputLength: DIGEST_LENGTH }).update(JSON.stringify(parts)).digest('base64');
