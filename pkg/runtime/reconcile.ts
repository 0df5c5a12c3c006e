import type { Logger } from '../env/logger.ts';
import type { Ms } from '../env/clock.ts';
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
