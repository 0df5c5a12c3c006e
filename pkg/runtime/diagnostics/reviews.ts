import { KeyedMutex } from '../../async/keyed-mutex.ts';
import { SingleFlight } from '../../async/single-flight.ts';
import { withDeadline } from '../../async/deadline.ts';
import { Lru } from '../../collections/lru.ts';
import type { Clock, Ms } from '../../env/clock.ts';

/** How long a review may take, including its wait for other reviews. The value is that of controller-runtime. */
const DEADLINE: Ms = 10_000;
/**
 * How many positive answers are cached, and how many negative ones. They have separate caches, so that unknown tokens
 * cannot evict the answers for valid tokens.
 */
const MAX_ENTRIES = 512;
/**
 * How many reviews of each kind (TokenReview, SubjectAccessReview) the API server gets at the same time, however many
 * clients send unknown tokens.
 */
const LANES = 4;
/**
 * The maximum number of reviews of each kind that the API server processes or that wait for another review. Further
 * reviews fail at once.
 */
const MAX_WAITING = 256;

export interface ReviewsOptions {
  readonly clock: Clock;
  /** The kind of review, for error messages, e.g. `the review of a token`. */
  readonly what: string;
  /** How long a positive answer (any value except `undefined`) is cached. */
  readonly keepPositive: Ms;
  /** How long a negative answer (`undefined`) is cached. */
  readonly keepNegative: Ms;
}

interface Answer<A> {
  readonly value: A;
  readonly at: Ms;
}

/**
 * Asks the API server to review tokens or permissions, and caches the answers for a limited time. Errors are not
 * cached.
 */
export class Reviews<A> {
  private readonly options: ReviewsOptions;
  private readonly positive = new Lru<Answer<A>>({ maxEntries: MAX_ENTRIES });
  private readonly negative = new Lru<Answer<undefined>>({ maxEntries: MAX_ENTRIES });
  private readonly flights = new SingleFlight<A | undefined>();
  private readonly lanes = new KeyedMutex();
  private waiting = 0;
  private nextLane = 0;

  constructor(options: ReviewsOptions) {
    this.options = options;
  }

  /** Returns the cached answer for `key`, or the answer of `ask`. The negative answer is `undefined`. */
  async get(
    key: string,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<A | undefined>,
  ): Promise<A | undefined> {
    const { keepPositive, keepNegative } = this.options;
    const allowed = this.positive.get(key);
    if (allowed !== undefined && this.isNewer(allowed, keepPositive)) return allowed.value;
    const denied = this.negative.get(key);
    if (denied !== undefined && this.isNewer(denied, keepNegative)) return undefined;
    return this.flights.run(key, signal, (shared) => this.askInLane(key, shared, ask));
  }

  private isNewer({ at }: Answer<unknown>, span: Ms): boolean {
    return this.options.clock.monotonic() - at < span;
  }

  private async askInLane(
    key: string,
    parent: AbortSignal,
    ask: (signal: AbortSignal) => Promise<A | undefined>,
  ): Promise<A | undefined> {
    const { clock, what } = this.options;
    if (this.waiting >= MAX_WAITING) throw new Error(`${what}: too many requests at the same time`);
    this.waiting += 1;
    this.nextLane = (this.nextLane + 1) % LANES;
    const lane = String(this.nextLane);
    try {
      const value = await withDeadline(clock, DEADLINE, parent, what, (signal) =>
        this.lanes.run([lane], signal, () => ask(signal)),
      );
      const at = clock.monotonic();
      if (value === undefined) this.negative.set(key, { value: undefined, at });
      else this.positive.set(key, { value, at });
      return value;
    } finally {
      this.waiting -= 1;
    }
  }
}
