/** Reads JSON of unknown shape, compares it, and patches it. */
export { type UnknownRecord, isRecord, fieldAt, textAt, listAt } from './record.ts';
export { jsonEqual, deepFreeze, diffMergePatch, applyMergePatch } from './patches.ts';
