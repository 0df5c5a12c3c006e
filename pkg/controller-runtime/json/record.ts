export type UnknownRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is UnknownRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns `undefined` if `value` is not a JSON object or lacks the field. Ignores what JavaScript objects inherit. */
export const fieldAt = (value: unknown, field: string): unknown =>
  isRecord(value) && Object.hasOwn(value, field) ? value[field] : undefined;

/** Returns `undefined` if the field is absent, empty, or not a string. */
export const textAt = (value: unknown, field: string): string | undefined => {
  const found = fieldAt(value, field);
  return typeof found === 'string' && found !== '' ? found : undefined;
};

/** Returns `undefined` if the field is absent or not a number. */
export const numberAt = (value: unknown, field: string): number | undefined => {
  const found = fieldAt(value, field);
  return typeof found === 'number' ? found : undefined;
};

/** Returns an empty list if the field is not a list. */
export const listAt = (value: unknown, field: string): readonly unknown[] => {
  const found = fieldAt(value, field);
  return Array.isArray(found) ? found : [];
};

/** Returns `undefined` if the text is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
