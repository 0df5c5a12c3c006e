/** Takes keys from a workqueue and reconciles them. See the table in controller.ts for the reconcile contract. */
export { type ReconcileResult, type ControllerOptions, Controller } from './controller.ts';
export type { Requeue, ReconcileContext, Reconcile } from './reconcile.ts';
