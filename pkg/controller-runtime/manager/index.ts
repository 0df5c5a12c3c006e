/** Starts the parts of a process in order, and stops them in order. */
export { GRACE_PERIOD, RECORDER_FLUSH_TIMEOUT, type Part, type ManagerOptions, Manager } from './manager.ts';
export type { Runnable } from './runnable.ts';
export { OLDEST_MINOR, tooOld, ServerVersionCheck } from './server-version.ts';
