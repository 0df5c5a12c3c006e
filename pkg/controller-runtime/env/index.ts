/** Time and randomness, which are injected everywhere, and time formats. */
export * from './clock.ts';
export * from './random.ts';
export * from './system.ts';
export * from './duration.ts';
export * from './timestamp.ts';
export * from './panic.ts';
