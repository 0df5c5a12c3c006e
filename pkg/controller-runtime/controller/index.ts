/** Takes keys from a workqueue and reconciles them. controller.ts has the contract of a reconcile as a table. */
export { type ReconcileResult, type ControllerOptions, Controller } from './controller.ts';
export type { Requeue, ReconcileContext, Reconcile } from './reconcile.ts';
