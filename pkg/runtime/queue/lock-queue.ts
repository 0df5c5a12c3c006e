import type { Clock, Ms } from '../../env/clock.ts';

interface WaitingEntry {
  readonly names: readonly string[];
  readonly requestedAt: Ms;
}

/** An entry that has not asked again for this long loses its place. It asks when woken, or after about a second. */
const WAITING_ENTRY_TTL: Ms = 5_000;

/**
 * Locks on names. An entry that does not get the lock on all its names keeps a place and occupies no worker; the queue
 * wakes it when it can get them. Entries that need the same name get it in the order of their first requests.
 */
export class LockQueue {
  private readonly clock: Clock;
  private readonly wake: (id: string) => void;
  private readonly locked = new Set<string>();
  /** By ID, in the order of the first request. */
  private readonly waiting = new Map<string, WaitingEntry>();

  /** `wake` gets the ID of an entry that should call `tryRun` again. */
  constructor(options: { readonly clock: Clock; readonly wake: (id: string) => void }) {
    this.clock = options.clock;
    this.wake = options.wake;
  }

  /**
   * Locks all of `names`, runs `work`, and unlocks the names. If one of the names is locked, or if an earlier entry
   * waits for it, returns `undefined` and does not run `work`.
   */
  tryRun<A>(id: string, names: readonly string[], work: () => Promise<A>): Promise<A> | undefined {
    const now = this.clock.monotonic();
    for (const [each, { requestedAt }] of this.waiting)
      if (now - requestedAt >= WAITING_ENTRY_TTL) this.waiting.delete(each);
    // `set` keeps the place of a known ID.
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

  /** The IDs of the entries that can get the lock now: no name is locked, and no earlier entry waits for any of them. */
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
