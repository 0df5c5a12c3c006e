/** Starts the parts of a process in order, and stops them in order. */
export * from './manager.ts';
export type { Runnable } from './runnable.ts';
export * from './server-version.ts';
