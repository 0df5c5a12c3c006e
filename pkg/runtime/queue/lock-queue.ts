import type { Clock, Ms } from '../../env/clock.ts';

interface WaitingEntry {
  readonly names: readonly string[];
  /** The monotonic time of the latest request. */
  readonly requestedAt: Ms;
}

/**
 * An entry that has not asked again for this long has lost its place. An entry asks again when it is woken, and at the
 * latest after about a second.
 */
const WAITING_ENTRY_TTL: Ms = 5_000;

/**
 * A lock per name, without a worker that waits: who does not get the lock is told so, keeps a place in line, and is
 * woken when its turn has come. First come, first served.
 */
export class LockQueue {
  private readonly clock: Clock;
  private readonly wake: (id: string) => void;
  private readonly locked = new Set<string>();
  /** The entries that were refused the lock, by their ID, in the order of their first request. */
  private readonly waiting = new Map<string, WaitingEntry>();

  /** The function `wake` gets the ID of the entry that should ask again. A lost wake-up only costs time. */
  constructor(options: { readonly clock: Clock; readonly wake: (id: string) => void }) {
    this.clock = options.clock;
    this.wake = options.wake;
  }

  /**
   * Locks all of `names`, runs `work`, and unlocks the names. Returns `undefined`, and does not run `work`, if one of
   * the names is locked or an entry ahead waits for it.
   */
  tryRun<A>(id: string, names: readonly string[], work: () => Promise<A>): Promise<A> | undefined {
    const now = this.clock.monotonic();
    for (const [each, { requestedAt }] of this.waiting)
      if (now - requestedAt >= WAITING_ENTRY_TTL) this.waiting.delete(each);
    // An entry that asks again keeps its place.
    this.waiting.set(id, { names, requestedAt: now });
    if (!this.next().includes(id)) return undefined;
    this.waiting.delete(id);
    return this.run(names, work);
  }

  private async run<A>(names: readonly string[], work: () => Promise<A>): Promise<A> {
    for (const name of names) this.locked.add(name);
    try {
      return await work();
    } finally {
      for (const name of names) this.locked.delete(name);
      for (const id of this.next()) this.wake(id);
    }
  }

  /** The waiting entries none of whose names is locked, or wanted by an entry ahead. */
  private next(): readonly string[] {
    const taken = new Set(this.locked);
    const ids: string[] = [];
    for (const [id, { names }] of this.waiting) {
      if (!names.some((name) => taken.has(name))) ids.push(id);
      for (const name of names) taken.add(name);
    }
    return ids;
  }
}
