import type { Clock, Ms, Timer } from '../env/clock.ts';
import { RecentlyUsed } from './recently-used.ts';

/** Who goes first where calls wait for their turn. */
export type Priority = 'mutation' | 'read' | 'poll';

const RANK: Readonly<Record<Priority, number>> = { mutation: 0, read: 1, poll: 2 };

export interface RateLimit {
  /** Calls a second, at best. */
  readonly rate: number;
  /** Calls at once after a pause. */
  readonly burst: number;
}

/** A call's leave to be sent, to be settled with what came of it. */
export interface Permit {
  settle(outcome: 'answered' | 'throttled'): void;
}

export interface Limiter {
  /**
   * Waits for leave to send one call of the bucket; rejects with the signal's reason when that aborts first. All callers
   * of one bucket give the same limit.
   */
  acquire(bucket: string, limit: RateLimit, priority: Priority, signal: AbortSignal): Promise<Permit>;
}

/** After AWS throttled, the rate at which calls were sent is cut to this part. */
const BACKOFF = 0.7;
/** Calls a second by which the rate grows again in each second of success. */
const RECOVERY_PER_SECOND = 1;
/** Calls a second, at worst. */
const SLOWEST = 0.5;
const SECOND: Ms = 1000;
/** Longer than the slowest bucket needs to be full and at its full rate again. */
const KEPT_UNUSED: Ms = 60 * 60_000;
/** A timer set for the next token must find it whole in spite of rounding. */
const WHOLE_TOKEN = 1 - 1e-6;

/**
 * Token buckets that slow down when AWS throttles: a cut below the rate at which calls were really going out, then
 * steady growth (additive increase, multiplicative decrease, as TCP has it). AWS does not publish its limits, which
 * differ by operation and account, and other tenants of an account use them up too.
 */
export function newLimiter(clock: Clock): Limiter {
  const buckets = new RecentlyUsed<Bucket>(clock, KEPT_UNUSED);
  return {
    acquire: (key, limit, priority, signal) =>
      buckets.get(key, () => new Bucket(clock, limit)).acquire(priority, signal),
  };
}

interface Waiter {
  readonly rank: number;
  readonly admit: (permit: Permit) => void;
}

class Bucket {
  private readonly clock: Clock;
  private readonly limit: RateLimit;
  /** Calls a second, now. */
  private rate: number;
  private tokens: number;
  private refilledAt: Ms;
  private slowedAt: Ms = -Infinity;
  /** When the calls of the last second were let go. */
  private sent: readonly Ms[] = [];
  /** By rank, then in the order in which they came. */
  private readonly waiters: Waiter[] = [];
  private timer: Timer | undefined;

  constructor(clock: Clock, limit: RateLimit) {
    this.clock = clock;
    this.limit = limit;
    this.rate = limit.rate;
    this.tokens = limit.burst;
    this.refilledAt = clock.monotonic();
  }

  acquire(priority: Priority, signal: AbortSignal): Promise<Permit> {
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
        admit: (permit) => {
          signal.removeEventListener('abort', onAbort);
          resolve(permit);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const behind = this.waiters.findIndex(({ rank }) => rank > waiter.rank);
      this.waiters.splice(behind === -1 ? this.waiters.length : behind, 0, waiter);
      this.admit();
    });
  }

  /** Lets go whom the tokens suffice for, and comes back when the next one is due. */
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
    const most = this.slowed() ? Math.max(1, Math.min(this.limit.burst, this.rate)) : this.limit.burst;
    const earned = ((now - this.refilledAt) / SECOND) * this.rate;
    this.tokens = Math.min(most, this.tokens + earned);
    this.refilledAt = now;
  }

  private slowed(): boolean {
    return this.rate < this.limit.rate;
  }

  private permit(): Permit {
    const sentAt = this.clock.monotonic();
    this.sent = [...this.recent(sentAt), sentAt];
    let settled = false;
    return {
      settle: (outcome) => {
        if (settled) {
          return;
        }
        settled = true;
        if (outcome === 'throttled') {
          this.slow(sentAt);
        } else if (this.slowed()) {
          this.rate = Math.min(this.limit.rate, this.rate + RECOVERY_PER_SECOND / this.rate);
        }
      },
    };
  }

  private slow(sentAt: Ms): void {
    // Calls that were on their way when the rate was cut say nothing about the new rate.
    if (sentAt <= this.slowedAt) {
      return;
    }
    this.refill();
    const now = this.clock.monotonic();
    this.rate = Math.max(SLOWEST, Math.min(this.rate, this.recent(now).length) * BACKOFF);
    this.tokens = 0;
    this.slowedAt = now;
    this.admit();
  }

  private recent(now: Ms): readonly Ms[] {
    return this.sent.filter((at) => now - at < SECOND);
  }
}
