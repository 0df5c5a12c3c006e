import type { Clock } from '../env/clock.ts';
import { sleep } from './deadline.ts';

/**
 * Resolves in a later turn of the event loop, or when `signal` aborts. Long work that waits for nothing calls this
 * function between its parts, so that requests, timers and other work do not wait for all of it.
 */
export const nextTurn = (clock: Clock, signal: AbortSignal): Promise<void> => sleep(clock, 0, signal).catch(() => {});
