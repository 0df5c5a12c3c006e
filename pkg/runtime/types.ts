import type { Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { ObjectKey } from '../kube/types.ts';
import type { QueuePriority } from './queue/ready-keys.ts';

/**
 * The result of a reconcile: when the reconciler wants to see the key again. A key whose reconcile throws is retried
 * with the exponential backoff of the key.
 */
export type Requeue =
  | { readonly kind: 'done' }
  | { readonly kind: 'after'; readonly delay: Ms; readonly reason: string; readonly priority?: QueuePriority }
  /** The key is retried with its exponential backoff, and no error is counted. */
  | { readonly kind: 'backoff'; readonly reason: string }
  /**
   * Another client changed the Kubernetes object after this reconcile had read it. The key is retried with its
   * exponential backoff, and no error is counted.
   */
  | { readonly kind: 'conflict' }
  /**
   * Only a change of the Kubernetes object can make a reconcile succeed. An error is counted, and the key is not
   * retried until a watch reports a change.
   */
  | { readonly kind: 'terminal'; readonly error: unknown };

export interface ReconcileContext {
  /** The logger of this reconcile. Its lines carry the object and, as in controller-runtime, the `reconcileID`. */
  readonly logger: Logger;
  /** The signal that aborts when the manager stops or loses its lease. */
  readonly signal: AbortSignal;
}

export type Reconcile = (key: ObjectKey, context: ReconcileContext) => Promise<Requeue>;

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
  hindrance?(): string | undefined;
  /**
   * Returns the error that has kept this part from working for minutes since it has started, in words for an operator;
   * `undefined` while the part works. With such an error the manager is not ready.
   */
  outage?(): string | undefined;
  /**
   * Returns for how long the content of this cache has been outdated, in ms; 0 while the cache is up to date. Only
   * caches have this method.
   */
  outdatedFor?(): Ms;
}

/** Tells whether this process is the elected leader at this moment. */
export interface Leadership {
  /**
   * Returns how many milliseconds remain until another process can take the lease; 0 or less when another process can
   * already take it. `Infinity` without leader election.
   */
  remaining(): Ms;
}
