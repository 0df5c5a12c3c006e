import type { Ms } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { ObjectKey } from '../kube/types.ts';
import type { Priority } from './workqueue.ts';

/**
 * What a reconciler asks for when it returns; a thrown error means: again, with the key's exponential backoff.
 */
export type Requeue =
  | { readonly kind: 'done' }
  | { readonly kind: 'after'; readonly delay: Ms; readonly why: string; readonly priority?: Priority }
  /** Again with the key's exponential backoff, without counting an error. */
  | { readonly kind: 'backoff'; readonly why: string }
  /** Somebody else wrote first: again with the key's exponential backoff, without counting an error. */
  | { readonly kind: 'conflict' }
  /** Counted as an error and not tried again until a watch brings news: only a change can mend it. */
  | { readonly kind: 'terminal'; readonly error: unknown };

export interface ReconcileContext {
  /** Its lines name the object and, as controller-runtime's, the pass: `reconcileID`. */
  readonly logger: Logger;
  /** Aborted when the manager stops or loses its lease. */
  readonly signal: AbortSignal;
}

export type Reconcile = (key: ObjectKey, context: ReconcileContext) => Promise<Requeue>;

/** A long-lived part of the manager. `run` ends when the signal aborts; ending earlier or throwing stops the manager. */
export interface Runnable {
  readonly name: string;
  /** Leader-elected parts run only while this process holds the lease. */
  readonly needsLeadership: boolean;
  run(signal: AbortSignal): Promise<void>;
  /**
   * Resolves once parts that start later may count on this one: a server listens, a cache is listed. Absent: at once.
   * Throws the signal's reason when it aborts first.
   */
  started?(signal: AbortSignal): Promise<void>;
  /** What keeps it from starting, in words for an operator; `undefined` where nothing has gone wrong yet. */
  hindrance?(): string | undefined;
}

/** Leadership as it is right now, judged by the monotonic clock. */
export interface Leadership {
  /** Milliseconds until the lease could belong to somebody else; 0 or less when it may already. `Infinity` without election. */
  remaining(): Ms;
}
