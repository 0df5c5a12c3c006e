import { isRecord } from '../../../api/record.ts';

/** Applies a JSON merge patch to a target of any type (RFC 7386 §2). */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[field];
    else result[field] = applyMergePatch(result[field], value);
  }
  return result;
}
