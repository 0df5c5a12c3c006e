import type { Clock, Ms } from '../env/clock.ts';
import { Lru } from './lru.ts';

// The rules by which client-go keeps a controller from flooding etcd with Events (tools/record/events_cache.go), so that
// users find what they know: repeats are counted, many similar ones become one, and each object has a budget.

/** client-go: this many different messages of one reason within the interval become one event. */
const AGGREGATE_FROM = 10;
const AGGREGATE_WITHIN: Ms = 600_000;
/** client-go: an object's budget of events of one type, and how long one more takes to come. */
const BURST = 25;
const REFILL: Ms = 300_000;
const REMEMBERED = 4096;

/** What there is to say about an object. */
export interface Occurrence {
  /** Identifies the object an event is about. */
  readonly objectId: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The Event object that already stands for such an occurrence. */
export interface Recorded {
  readonly name: string;
  readonly count: number;
  /** When it happened first, as on the wire. */
  readonly firstTimestamp: string;
}

export type Verdict =
  /** Over the object's budget. */
  | { readonly kind: 'drop' }
  | { readonly kind: 'create'; readonly id: string; readonly message: string }
  | { readonly kind: 'update'; readonly id: string; readonly message: string; readonly recorded: Recorded };

interface Bucket {
  readonly tokens: number;
  readonly at: Ms;
}

interface Similar {
  readonly messages: ReadonlySet<string>;
  readonly last: Ms;
}

export class EventCorrelator {
  private readonly clock: Clock;
  private readonly similar = new Lru<Similar>(REMEMBERED);
  private readonly recorded = new Lru<Recorded>(REMEMBERED);
  private readonly buckets = new Lru<Bucket>(REMEMBERED);

  constructor(clock: Clock) {
    this.clock = clock;
  }

  judge(occurrence: Occurrence): Verdict {
    const { id, message } = this.aggregate(occurrence);
    if (!this.takeToken(idOf(occurrence.objectId, occurrence.type))) return { kind: 'drop' };
    const recorded = this.recorded.get(id);
    return recorded === undefined ? { kind: 'create', id, message } : { kind: 'update', id, message, recorded };
  }

  /** The server has it now. */
  remember(id: string, recorded: Recorded): void {
    this.recorded.set(id, recorded);
  }

  private aggregate({ objectId, type, reason, message }: Occurrence): {
    readonly id: string;
    readonly message: string;
  } {
    const now = this.clock.monotonic();
    const id = idOf(objectId, type, reason);
    const known = this.similar.get(id);
    const fresh = known === undefined || now - known.last > AGGREGATE_WITHIN ? [] : known.messages;
    const messages = new Set([...fresh, message]);
    if (messages.size < AGGREGATE_FROM) {
      this.similar.set(id, { messages, last: now });
      return { id: idOf(objectId, type, reason, message), message };
    }
    // Any one of them makes room: only their number counts.
    const [one = ''] = messages;
    messages.delete(one);
    this.similar.set(id, { messages, last: now });
    return { id, message: `(combined from similar events): ${message}` };
  }

  private takeToken(id: string): boolean {
    const now = this.clock.monotonic();
    const bucket = this.buckets.get(id) ?? { tokens: BURST, at: now };
    const tokens = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL);
    const isEnough = tokens >= 1;
    this.buckets.set(id, { tokens: isEnough ? tokens - 1 : tokens, at: now });
    return isEnough;
  }
}

const idOf = (...parts: readonly string[]): string => JSON.stringify(parts);
