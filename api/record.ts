/** A JSON object whose fields are not known. */
export type UnknownRecord = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is UnknownRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the value of the field `field`; `undefined` if `value` is not a JSON object or lacks the field. */
export const fieldAt = (value: unknown, field: string): unknown => (isRecord(value) ? value[field] : undefined);

/** Returns the text in the field `field` of `value`; `undefined` if the field is absent, empty or not a string. */
export const textAt = (value: unknown, field: string): string | undefined => {
  const found = fieldAt(value, field);
  return typeof found === 'string' && found !== '' ? found : undefined;
};
