/**
 * Converts any value to JSON. Never throws: a value without a JSON form (a circular reference, a function, a throwing
 * getter) becomes a string.
 */
export function toJson(value: unknown): string {
  const above: unknown[] = [];
  const replace = function (this: unknown, _key: string, inner: unknown): unknown {
    if (typeof inner === 'bigint') return String(inner);
    if (inner instanceof Error) return inner.message;
    if (typeof inner !== 'object' || inner === null) return inner;
    // The list `above` holds the objects that contain the value `inner`, the outermost first; a value in this list is a
    // circular reference. JSON.stringify sets `this` to the object that directly contains `inner`. So the loop removes
    // all objects after `this`, because they do not contain `inner`.
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(inner)) return '[circular]';
    above.push(inner);
    return inner;
  };
  try {
    // JSON.stringify returns undefined for a function or a symbol, although its TypeScript type says string.
    const json: unknown = JSON.stringify(value, replace);
    return typeof json === 'string' ? json : JSON.stringify(String(value));
  } catch (error) {
    return JSON.stringify(`[not JSON: ${error instanceof Error ? error.message : 'unreadable'}]`);
  }
}
