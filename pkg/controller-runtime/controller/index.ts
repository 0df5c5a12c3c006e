/** Takes keys from a workqueue and reconciles them. See the table in controller.ts for the reconcile contract. */
export * from './controller.ts';
