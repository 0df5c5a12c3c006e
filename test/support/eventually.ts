import { setTimeout as delay } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Milliseconds until it is given up; 10 s by default. */
  readonly timeoutMs?: number;
  /** Milliseconds between two tries; 50 ms by default. */
  readonly intervalMs?: number;
  /** What is waited for, as it should read in the error. */
  readonly what?: string;
}

/**
 * Calls `attempt` until it neither throws nor answers `false`, and returns its answer. Whatever it threw last is the cause,
 * and in the words, of the error that is thrown when time is up.
 */
export async function eventually<T>(
  attempt: () => T | false | Promise<T | false>,
  { timeoutMs = 10_000, intervalMs = 50, what = 'the condition' }: EventuallyOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let lastError: unknown;
    try {
      const answer = await attempt();
      if (answer !== false) return answer;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() >= deadline) {
      const why = lastError instanceof Error ? `: ${lastError.message}` : '';
      throw new Error(`${what} did not come about within ${timeoutMs} ms${why}`, { cause: lastError });
    }
    await delay(intervalMs);
  }
}
