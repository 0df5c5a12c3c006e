import type { Clock, Ms, Timer } from '../../env/clock.ts';
import { Lru } from '../../collections/lru.ts';

/**
 * The priority of an AWS call that waits for the rate limiter. Mutations are sent first, then reads, then polls (reads
 * that only check whether a change in AWS has finished).
 */
export type CallPriority = 'mutation' | 'read' | 'poll';

const RANK: Readonly<Record<CallPriority, number>> = { mutation: 0, read: 1, poll: 2 };

export interface RateLimit {
  /** The highest rate, in calls per second. */
  readonly rate: number;
  /** The size of the token bucket: the number of calls that can be sent at once after a pause. */
  readonly burst: number;
}

/** The permission to send one AWS call. The caller must report the result of this call with `settle`. */
export interface Permit {
  settle(outcome: 'completed' | 'throttled'): void;
}

export interface Limiter {
  /**
   * Waits for the permission to send one AWS call from the token bucket with the given name. Rejects with the signal's
   * reason when the signal aborts before that. All callers of one token bucket must pass the same limit.
   */
  acquire(bucket: string, limit: RateLimit, priority: CallPriority, signal: AbortSignal): Promise<Permit>;
}

/**
 * The factor by which a token bucket reduces its rate when AWS throttles a call. The new rate is this factor times the
 * lower of two rates: the bucket's old rate, and the rate at which the bucket really permitted calls around the
 * throttled call. For the real rate the bucket counts the calls in the second before the throttled call and in the
 * second after it, and takes the higher count.
 */
const THROTTLED_RATE_FACTOR = 0.7;
/**
 * How much the rate of a token bucket grows during each second of successful calls after AWS has throttled a call. The
 * unit is calls per second.
 */
const RECOVERY_PER_SECOND = 1;
/** The lowest rate to which throttling reduces a token bucket, in calls per second. */
const MIN_RATE = 0.5;
const SECOND: Ms = 1000;
/**
 * How long a token bucket remembers the time at which it permitted each call. AWS answers a call sooner than that. So
 * when AWS has throttled a call, the bucket can still count the calls around this call.
 */
const KEPT_TIMES: Ms = 60_000;
/**
 * The rate limiter forgets a token bucket that was not used for this long. The time is longer than the slowest token
 * bucket needs to return to its full rate and burst.
 */
const KEPT_UNUSED: Ms = 60 * 60_000;
/**
 * A token bucket with at least this number of tokens permits a call. The number is below 1, because rounding errors may
 * leave slightly less than a token when the timer for the next token fires.
 */
const WHOLE_TOKEN = 1 - 1e-6;

/**
 * Creates a rate limiter with token buckets that slow down when AWS throttles: a bucket's rate is cut below the rate of
 * the calls that were really sent, then grows steadily (additive increase, multiplicative decrease, as in TCP). AWS
 * does not publish most of its limits. They differ by operation and account, and other clients of the account use them
 * too.
 */
export function newLimiter(clock: Clock): Limiter {
  const buckets = new Lru<Bucket>({ expireAfterAccess: { clock, span: KEPT_UNUSED } });
  return {
    acquire: (key, limit, priority, signal) =>
      buckets.getOrCreate(key, () => new Bucket(clock, limit)).acquire(priority, signal),
  };
}

interface Waiter {
  readonly rank: number;
  readonly admit: (permit: Permit) => void;
}

class Bucket {
  private readonly clock: Clock;
  private readonly limit: RateLimit;
  /** The current rate of the token bucket, in calls per second. */
  private rate: number;
  private tokens: number;
  private refilledAt: Ms;
  private slowedAt: Ms = -Infinity;
  /** The monotonic times at which this token bucket permitted calls during the last {@link KEPT_TIMES}, in order. */
  private readonly sent: Ms[] = [];
  /** The AWS calls that wait for a token, ordered by priority and then by arrival. */
  private readonly waiters: Waiter[] = [];
  private timer: Timer | undefined;

  constructor(clock: Clock, limit: RateLimit) {
    this.clock = clock;
    this.limit = limit;
    this.rate = limit.rate;
    this.tokens = limit.burst;
    this.refilledAt = clock.monotonic();
  }

  acquire(priority: CallPriority, signal: AbortSignal): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        this.waiters.splice(this.waiters.indexOf(waiter), 1);
        if (this.waiters.length === 0) {
          this.timer?.cancel();
          this.timer = undefined;
        }
        reject(signal.reason);
      };
      const waiter: Waiter = {
        rank: RANK[priority],
        admit: (newPermit) => {
          signal.removeEventListener('abort', onAbort);
          resolve(newPermit);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const behind = this.waiters.findIndex(({ rank }) => rank > waiter.rank);
      this.waiters.splice(behind === -1 ? this.waiters.length : behind, 0, waiter);
      this.admit();
    });
  }

  /** Permits as many waiting calls as the bucket has tokens, and sets a timer for the next token. */
  private admit(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.refill();
    while (this.tokens >= WHOLE_TOKEN) {
      const waiter = this.waiters.shift();
      if (waiter === undefined) {
        return;
      }
      this.tokens -= 1;
      waiter.admit(this.permit());
    }
    if (this.waiters.length > 0) {
      this.timer = this.clock.after(((1 - this.tokens) / this.rate) * SECOND, () => this.admit());
    }
  }

  private refill(): void {
    const now = this.clock.monotonic();
    const most = this.isSlowed() ? Math.max(1, Math.min(this.limit.burst, this.rate)) : this.limit.burst;
    const earned = ((now - this.refilledAt) / SECOND) * this.rate;
    this.tokens = Math.min(most, this.tokens + earned);
    this.refilledAt = now;
  }

  private isSlowed(): boolean {
    return this.rate < this.limit.rate;
  }

  private permit(): Permit {
    const sentAt = this.clock.monotonic();
    while (sentAt - (this.sent[0] ?? sentAt) > KEPT_TIMES) this.sent.shift();
    this.sent.push(sentAt);
    let settled = false;
    return {
      settle: (outcome) => {
        if (settled) {
          return;
        }
        settled = true;
        if (outcome === 'throttled') {
          this.reduceRate(sentAt);
        } else if (this.isSlowed()) {
          this.rate = Math.min(this.limit.rate, this.rate + RECOVERY_PER_SECOND / this.rate);
        }
      },
    };
  }

  private reduceRate(sentAt: Ms): void {
    // The throttled call was sent before the latest cut of the rate. So the throttling does not show that the new rate
    // is too high.
    if (sentAt <= this.slowedAt) {
      return;
    }
    this.refill();
    const now = this.clock.monotonic();
    this.rate = Math.max(MIN_RATE, Math.min(this.rate, this.rateAround(sentAt)) * THROTTLED_RATE_FACTOR);
    this.tokens = 0;
    this.slowedAt = now;
    this.admit();
  }

  /**
   * Returns how many calls the bucket permitted in the second before or in the second after a call, whichever number is
   * higher. For the first call of a burst, only the second after the call shows the rate of the burst.
   */
  private rateAround(sentAt: Ms): number {
    const before = this.sent.filter((at) => at <= sentAt && sentAt - at < SECOND);
    const after = this.sent.filter((at) => at >= sentAt && at - sentAt < SECOND);
    return Math.max(before.length, after.length);
  }
}
