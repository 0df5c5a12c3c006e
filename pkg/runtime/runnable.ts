import type { Ms } from '../env/clock.ts';

/**
 * A long-lived part of the manager, like a Runnable of controller-runtime. `run` returns when the signal has aborted. A
 * part whose `run` returns before that or throws makes the manager stop.
 */
export interface Runnable {
  readonly name: string;
  /** True: this part of the manager runs only while this process holds the lease. */
  readonly needsLeadership: boolean;
  run(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when other parts of the manager may use this part, e.g. when a server listens or a cache is synced. A part
   * without this method counts as started at once. Throws the signal's reason when the signal aborts before that.
   */
  started?(signal: AbortSignal): Promise<void>;
  /**
   * Returns the latest error that keeps this part of the manager from starting, in words for an operator; `undefined`
   * when there was no error.
   */
  currentProblem?(): string | undefined;
  /**
   * Returns the error because of which this part has not worked for minutes, in words for an operator; `undefined`
   * while the part works, in the first minutes of an error, and for a cache whose kind the API server does not serve.
   * With such an error the manager is not ready.
   */
  outage?(): string | undefined;
  /**
   * Returns for how long the content of this cache has been outdated, in ms; 0 while the cache is up to date or the API
   * server does not serve the kind. Only caches have this method.
   */
  outdatedFor?(): Ms;
}
