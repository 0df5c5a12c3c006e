import { setTimeout as delay } from 'node:timers/promises';

/** Between two tries: a tenth of what was waited so far, within these bounds. Late by a tenth at most, and soon no load. */
const SHORTEST_INTERVAL_MS = 20;
const LONGEST_INTERVAL_MS = 500;

export interface EventuallyOptions {
  /** Milliseconds until it is given up; 10 s by default. */
  readonly timeoutMs?: number;
  /** Milliseconds between two tries; by default 20 ms at first, and more and more, up to 500 ms. */
  readonly intervalMs?: number;
  /** Begins to listen for a reason to try again, before each try. It takes the place of the interval. */
  readonly listen?: () => Ear;
  /** What is waited for, as it should read in the error. */
  readonly what?: string;
}

export interface Ear {
  /** Resolves when there was a reason since this began to listen, or when it would rather look than wait for one longer. */
  heard(): Promise<void>;
}

/**
 * Calls `attempt` until it neither throws nor answers `false`, and returns its answer. Whatever it threw last is the cause,
 * and in the words, of the error that is thrown when time is up.
 */
export async function eventually<T>(
  attempt: () => T | false | Promise<T | false>,
  { timeoutMs = 10_000, intervalMs, listen, what = 'the condition' }: EventuallyOptions = {},
): Promise<T> {
  const begin = performance.now();
  for (;;) {
    let lastError: unknown;
    const ear = listen?.();
    try {
      const answer = await attempt();
      if (answer !== false) return answer;
    } catch (error) {
      lastError = error;
    }
    const waited = performance.now() - begin;
    if (waited >= timeoutMs) {
      const why = lastError instanceof Error ? `: ${lastError.message}` : '';
      throw new Error(`${what} did not come about within ${timeoutMs} ms${why}`, { cause: lastError });
    }
    await (ear?.heard() ?? delay(intervalMs ?? growing(waited)));
  }
}

const growing = (waited: number): number => Math.min(Math.max(waited / 10, SHORTEST_INTERVAL_MS), LONGEST_INTERVAL_MS);
