/**
 * Limits the number of different values, such as those of a metric's label. The first `limit` values stay as they are;
 * every further value becomes `other`.
 */
export class BoundedValues {
  private readonly limit: number;
  private readonly known = new Set<string>();

  constructor(limit: number) {
    this.limit = limit;
  }

  of(value: string): string {
    if (this.known.has(value)) return value;
    if (this.known.size >= this.limit) return 'other';
    this.known.add(value);
    return value;
  }
}
