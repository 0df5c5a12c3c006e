import type { Clock, Ms } from '../env/clock.ts';

export interface LruOptions {
  readonly maxEntries?: number;
  /** An entry that was not used for `span` ms is evicted at the next use of a different key, or call of `entries`. */
  readonly expireAfterAccess?: { readonly clock: Clock; readonly span: Ms };
}

interface Entry<A> {
  readonly value: A;
  readonly usedAt: Ms;
}

/**
 * A cache that evicts the least recently used entries. `get`, `getOrCreate`, and `set` count as a use of an entry;
 * `peek` and `entries` do not.
 */
export class Lru<A> {
  private readonly options: LruOptions;
  /** A Map keeps the order of insertion, so the least recently used entry comes first. */
  private readonly byLastUse = new Map<string, Entry<A>>();

  constructor(options: LruOptions) {
    this.options = options;
  }

  get(key: string): A | undefined {
    const known = this.byLastUse.get(key);
    if (known === undefined) this.evict();
    else this.set(key, known.value);
    return known?.value;
  }

  getOrCreate(key: string, create: () => A): A {
    const known = this.byLastUse.get(key);
    const value = known === undefined ? create() : known.value;
    this.set(key, value);
    return value;
  }

  set(key: string, value: A): void {
    this.byLastUse.delete(key);
    this.byLastUse.set(key, { value, usedAt: this.now() });
    this.evict();
  }

  peek(key: string): A | undefined {
    return this.byLastUse.get(key)?.value;
  }

  /** The least recently used entry comes first. */
  entries(): readonly (readonly [key: string, value: A])[] {
    this.evict();
    return [...this.byLastUse].map(([key, { value }]) => [key, value]);
  }

  private evict(): void {
    const { maxEntries = Infinity, expireAfterAccess: { span } = { span: Infinity } } = this.options;
    const now = this.now();
    for (const [key, { usedAt }] of this.byLastUse) {
      if (this.byLastUse.size <= maxEntries && now - usedAt < span) return;
      this.byLastUse.delete(key);
    }
  }

  private now(): Ms {
    return this.options.expireAfterAccess?.clock.monotonic() ?? 0;
  }
}
