/** A map that forgets what was written longest ago when it grows beyond `limit`. */
export class Lru<A> {
  private readonly entries = new Map<string, A>();
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  get(key: string): A | undefined {
    return this.entries.get(key);
  }

  set(key: string, value: A): void {
    // A Map keeps the order of insertion: what is written anew moves to the end.
    this.entries.delete(key);
    this.entries.set(key, value);
    const [oldest] = this.entries.keys();
    if (this.entries.size > this.limit && oldest !== undefined) this.entries.delete(oldest);
  }
}
