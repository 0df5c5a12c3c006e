/** Queues of keys: the workqueue of a controller, and locks that are taken in order. */
export { type WorkqueueMetrics, type WorkqueueOptions, Workqueue } from './workqueue.ts';
export type { QueuePriority, Slots } from './ready-keys.ts';
export { LockQueue } from './lock-queue.ts';
