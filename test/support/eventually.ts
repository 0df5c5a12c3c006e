import { setTimeout as delay } from 'node:timers/promises';
import { HANG_LIMIT_MS } from './hang-limit.ts';

/**
 * The bounds of the default interval between two attempts of `eventually`. The interval is a tenth of the time waited
 * so far. So `eventually` waits at most about 10% longer than necessary, and causes little load.
 */
const MIN_INTERVAL_MS = 20;
const MAX_INTERVAL_MS = 500;

export interface EventuallyOptions {
  /**
   * The time limit for all attempts, in milliseconds; default: `HANG_LIMIT_MS`. Tests use the default, because a
   * shorter limit would depend on the speed of the machine.
   */
  readonly timeoutMs?: number;
  /**
   * The time between two attempts, in milliseconds. Default: a tenth of the time waited so far, at least 20 ms and at
   * most 500 ms.
   */
  readonly intervalMs?: number;
  /**
   * Starts a subscription to changes before each attempt. The next attempt then starts after a change instead of after
   * an interval.
   */
  readonly subscribe?: () => ChangeSubscription;
  /** The name of the awaited condition in the error message. */
  readonly what?: string;
}

export interface ChangeSubscription {
  /** Resolves after a change since the start of the subscription, or after the time limit of the subscription. */
  waitForChange(): Promise<void>;
}

/**
 * Calls `attempt` until it neither throws nor returns `false`, and returns the result of the last call.
 * @throws after `timeoutMs`; the cause of the error is the error of the last call, or undefined if it returned `false`
 */
export async function eventually<T>(
  attempt: () => T | false | Promise<T | false>,
  { timeoutMs = HANG_LIMIT_MS, intervalMs, subscribe, what = 'the condition' }: EventuallyOptions = {},
): Promise<T> {
  const begin = performance.now();
  for (;;) {
    let lastError: unknown;
    const subscription = subscribe?.();
    try {
      const result = await attempt();
      if (result !== false) return result;
    } catch (error) {
      lastError = error;
    }
    const waited = performance.now() - begin;
    if (waited >= timeoutMs) {
      const why = lastError instanceof Error ? `: ${lastError.message}` : '';
      throw new Error(`waiting for ${what} timed out after ${timeoutMs} ms${why}`, { cause: lastError });
    }
    await (subscription?.waitForChange() ?? delay(intervalMs ?? growingInterval(waited)));
  }
}

const growingInterval = (waited: number): number => Math.min(Math.max(waited / 10, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
