import { Lru } from 'controller-runtime/collections';
import type { Clock, Ms, Timer } from 'controller-runtime/env';
import type { AwsService } from '../errors/failure.ts';

/** A `poll` only checks whether a change in AWS has finished; a `resync` checks whether AWS is still unchanged. */
export type ReadPriority = 'read' | 'poll' | 'resync';

export type CallPriority = 'mutation' | ReadPriority;

const RANK: Readonly<Record<CallPriority, number>> = { mutation: 0, read: 1, poll: 2, resync: 3 };

interface RateLimit {
  /** In calls per second. */
  readonly rate: number;
  /** How many calls can be sent immediately after a pause. */
  readonly burst: number;
}

/** The caller must report the result of the call with `settle`, once. */
export interface Permit {
  settle(outcome: 'completed' | 'throttled'): void;
}

export interface RateLimiter {
  /**
   * Rejects with the signal's reason when the signal aborts. All callers of one token bucket must pass the same limit.
   * The priority is read each time a call can be sent, so the priority of a waiting call can rise.
   */
  acquire(bucket: string, limit: RateLimit, priority: () => CallPriority, signal: AbortSignal): Promise<Permit>;
}

/**
 * When AWS throttles a call, the new rate is this factor times the old rate, or times the rate at which the bucket
 * really permitted calls at that time (see `rateAround`) if that is lower.
 */
const THROTTLED_RATE_FACTOR = 0.7;
/** During each second of successful calls after throttling, the rate grows by this many calls per second. */
const RECOVERY_PER_SECOND = 1;
/** In calls per second. */
const MIN_RATE = 0.5;
const SECOND: Ms = 1000;
/**
 * How long a bucket remembers the calls that it has permitted. AWS answers sooner, so when AWS throttles a call, the
 * bucket still knows how many others it permitted around that call.
 */
const KEPT_TIMES: Ms = 60_000;
/** An unused token bucket is discarded after this time. The slowest bucket recovers its full rate and burst sooner. */
const KEPT_UNUSED: Ms = 60 * 60_000;
/** How many tokens a call needs: below 1, because rounding may leave slightly less than a token when a timer fires. */
const WHOLE_TOKEN = 1 - 1e-6;

/**
 * When AWS throttles calls, a token bucket slows down and then recovers steadily (additive increase, multiplicative
 * decrease, as in TCP). AWS does not publish most of its limits. They differ by operation and account, and other
 * clients of the account use them too.
 */
export function newRateLimiter(clock: Clock): RateLimiter {
  const buckets = new Lru<Bucket>({ expireAfterAccess: { clock, span: KEPT_UNUSED } });
  return {
    acquire: (key, limit, priority, signal) =>
      buckets.getOrCreate(key, () => new Bucket(clock, limit)).acquire(priority, signal),
  };
}

interface Waiter {
  readonly priority: () => CallPriority;
  readonly admit: (permit: Permit) => void;
}

class Bucket {
  private readonly clock: Clock;
  private readonly limit: RateLimit;
  /** In calls per second. */
  private rate: number;
  private tokens: number;
  private refilledAt: Ms;
  private slowedAt: Ms = -Infinity;
  /** The monotonic times of the calls that were permitted within the last {@link KEPT_TIMES} ms, the oldest first. */
  private readonly sent: Ms[] = [];
  /** In the order of their arrival. */
  private readonly waiters: Waiter[] = [];
  private timer: Timer | undefined;

  constructor(clock: Clock, limit: RateLimit) {
    this.clock = clock;
    this.limit = limit;
    this.rate = limit.rate;
    this.tokens = limit.burst;
    this.refilledAt = clock.monotonic();
  }

  acquire(priority: () => CallPriority, signal: AbortSignal): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        this.waiters.splice(this.waiters.indexOf(waiter), 1);
        if (this.waiters.length === 0) {
          this.timer?.cancel();
          this.timer = undefined;
        }
        reject(signal.reason);
      };
      const waiter: Waiter = {
        priority,
        admit: (newPermit) => {
          signal.removeEventListener('abort', onAbort);
          resolve(newPermit);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.waiters.push(waiter);
      this.admit();
    });
  }

  private admit(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.refill();
    while (this.tokens >= WHOLE_TOKEN) {
      const waiter = this.takeFirst();
      if (waiter === undefined) return;
      this.tokens -= 1;
      waiter.admit(this.permit());
    }
    if (this.waiters.length > 0)
      this.timer = this.clock.after(((1 - this.tokens) / this.rate) * SECOND, () => this.admit());
  }

  private takeFirst(): Waiter | undefined {
    let [first, lowest] = [-1, Infinity];
    for (const [index, { priority }] of this.waiters.entries()) {
      const rank = RANK[priority()];
      if (rank < lowest) [first, lowest] = [index, rank];
    }
    return first === -1 ? undefined : this.waiters.splice(first, 1)[0];
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
    return {
      settle: (outcome) => {
        if (outcome === 'throttled') this.reduceRate(sentAt);
        else if (this.isSlowed()) this.rate = Math.min(this.limit.rate, this.rate + RECOVERY_PER_SECOND / this.rate);
      },
    };
  }

  private reduceRate(sentAt: Ms): void {
    // The call was sent before the latest reduction of the rate, so it does not show that the new rate is too high.
    if (sentAt <= this.slowedAt) return;
    this.refill();
    const now = this.clock.monotonic();
    this.rate = Math.max(MIN_RATE, Math.min(this.rate, this.rateAround(sentAt)) * THROTTLED_RATE_FACTOR);
    this.tokens = 0;
    this.slowedAt = now;
    this.admit();
  }

  /**
   * Returns how many calls were permitted in the second before or after a call, whichever is more. For the first call
   * of a burst, only the second after it shows the rate.
   */
  private rateAround(sentAt: Ms): number {
    const before = this.sent.filter((at) => at <= sentAt && sentAt - at < SECOND);
    const after = this.sent.filter((at) => at >= sentAt && at - sentAt < SECOND);
    return Math.max(before.length, after.length);
  }
}

export type CallKind = 'read' | 'mutation';

/**
 * AWS does not publish most limits, so the rate limiter lowers a rate when AWS throttles. These bounds keep AWS from
 * throttling the manager of a large installation at its start.
 */
const LIMITS: Readonly<Record<CallKind, RateLimit>> = {
  read: { rate: 100, burst: 100 },
  mutation: { rate: 50, burst: 50 },
};
const OF_OTHERS: RateLimit = { rate: 20, burst: 20 };

export const rateLimitFor = (service: AwsService, kind: CallKind): RateLimit =>
  service === 'eks' || service === 'iam' ? LIMITS[kind] : OF_OTHERS;
