/** Promises that settle at a deadline of the injected clock, or when an AbortSignal aborts. */
export {
  DeadlineExceeded,
  deadline,
  withDeadline,
  untilAborted,
  sleep,
  pause,
  nextTurn,
  aborted,
  isAborted,
} from './deadline.ts';
export { KeyedMutex } from './keyed-mutex.ts';
export { SingleFlight } from './single-flight.ts';
