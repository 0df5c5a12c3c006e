/** Reads JSON of unknown shape, compares it, and patches it. */
export * from './record.ts';
export * from './patches.ts';
