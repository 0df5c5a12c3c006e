import type { Logger } from '../log/logger.ts';
import type { Ms } from '../env/clock.ts';
import type { ObjectKey } from '../client/types.ts';
import type { QueuePriority } from '../queue/ready-keys.ts';

/** When the key is reconciled again. A key whose reconcile throws is retried with its backoff. */
export type Requeue =
  | { readonly kind: 'done' }
  | { readonly kind: 'after'; readonly delay: Ms; readonly reason: string; readonly priority?: QueuePriority }
  /** The key is retried with its backoff, and no error is counted. */
  | { readonly kind: 'backoff'; readonly reason: string }
  /** Handled like `backoff`: another client changed the Kubernetes object after this reconcile had read it. */
  | { readonly kind: 'conflict' }
  /** An error is counted, and the key is not retried until a watch reports a change of the object. */
  | { readonly kind: 'terminal'; readonly error: unknown };

export interface ReconcileContext {
  /** Adds the object and the `reconcileID` to each log line. */
  readonly logger: Logger;
  /** Aborts when the manager stops or loses its lease. */
  readonly signal: AbortSignal;
}

export type Reconcile = (key: ObjectKey, context: ReconcileContext) => Promise<Requeue>;
