import type { Ms } from '../env/clock.ts';

/**
 * A long-lived part of the manager, like a Runnable of controller-runtime. If its `run` throws, or returns before the
 * signal has aborted, the manager stops.
 */
export interface Runnable {
  readonly name: string;
  /** Whether this part runs only while this process holds the lease. */
  readonly needsLeadership: boolean;
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when others may use this part, e.g. when a cache is synced. Without this method, that is at once. */
  started?(signal: AbortSignal): Promise<void>;
  /** The latest error that keeps this part from starting, in words for an operator. */
  currentProblem?(): string | undefined;
  /** Why this part has not worked for minutes, in words for an operator: the manager is not ready. */
  outage?(): string | undefined;
  /** For how long this cache has been outdated; 0 while it is up to date or the API server does not serve the kind. */
  outdatedFor?(): Ms;
}
