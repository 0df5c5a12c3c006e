/** JSON of any value. Never throws: what JSON cannot hold (circles, functions, throwing getters) becomes a string. */
export function toJson(value: unknown): string {
  const above: unknown[] = [];
  const replace = function (this: unknown, _key: string, inner: unknown): unknown {
    if (typeof inner === 'bigint') return String(inner);
    if (inner instanceof Error) return inner.message;
    if (typeof inner !== 'object' || inner === null) return inner;
    // `this` holds `inner`: what stands above it in the list is the way from the root to it.
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(inner)) return '[circular]';
    above.push(inner);
    return inner;
  };
  try {
    // The types of JSON.stringify hide that it answers undefined for a function or a symbol.
    const json: unknown = JSON.stringify(value, replace);
    return typeof json === 'string' ? json : JSON.stringify(String(value));
  } catch (error) {
    return JSON.stringify(`[not JSON: ${error instanceof Error ? error.message : 'unreadable'}]`);
  }
}
