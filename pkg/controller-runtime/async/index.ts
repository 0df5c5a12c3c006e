/** Promises that settle at a deadline of the injected clock, or when an AbortSignal aborts. */
export * from './deadline.ts';
export * from './keyed-mutex.ts';
export * from './single-flight.ts';
