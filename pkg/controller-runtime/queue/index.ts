/** Queues of keys: the workqueue of a controller, and locks that are taken in order. */
export * from './workqueue.ts';
export type { QueuePriority, Slots } from './ready-keys.ts';
export * from './lock-queue.ts';
