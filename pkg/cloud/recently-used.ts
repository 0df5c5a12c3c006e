import type { Clock, Ms } from '../env/clock.ts';

/** A map that forgets what nobody has asked for in a while. */
export class RecentlyUsed<A> {
  private readonly clock: Clock;
  private readonly span: Ms;
  private readonly entries = new Map<string, { readonly value: A; usedAt: Ms }>();
  private sweptAt: Ms;

  /** An entry stays for `span` ms after its last use, and goes with the first use of any other once that is over. */
  constructor(clock: Clock, span: Ms) {
    this.clock = clock;
    this.span = span;
    this.sweptAt = clock.monotonic();
  }

  get(key: string, make: () => A): A {
    const now = this.clock.monotonic();
    const known = this.entries.get(key);
    if (known !== undefined) known.usedAt = now;
    this.sweep(now);
    if (known !== undefined) return known.value;
    const value = make();
    this.entries.set(key, { value, usedAt: now });
    return value;
  }

  /** Those used lately, in no order; asking is no use. */
  all(): readonly (readonly [key: string, value: A])[] {
    this.sweep(this.clock.monotonic());
    return [...this.entries].map(([key, { value }]) => [key, value]);
  }

  /** Asking is no use. */
  peek(key: string): A | undefined {
    return this.entries.get(key)?.value;
  }

  /** Looking at all entries at each use would cost more than they do. */
  private sweep(now: Ms): void {
    if (now - this.sweptAt < this.span / 4) return;
    this.sweptAt = now;
    for (const [key, { usedAt }] of this.entries) if (now - usedAt >= this.span) this.entries.delete(key);
  }
}
