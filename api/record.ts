/** A JSON object of which nothing else is known. */
export type UnknownRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is UnknownRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A field of whatever the value is; `undefined` where it is no object or has no such field. */
export const fieldAt = (value: unknown, field: string): unknown => (isRecord(value) ? value[field] : undefined);

/** The text in a field; `undefined` where there is none, or none in it. */
export const textAt = (value: unknown, field: string): string | undefined => {
  const found = fieldAt(value, field);
  return typeof found === 'string' && found !== '' ? found : undefined;
};
