import type { Clock, Ms } from '../../env/clock.ts';

interface WaitingEntry {
  readonly names: readonly string[];
  /** The monotonic time of the latest request for the lock. */
  readonly requestedAt: Ms;
}

/**
 * An entry that has not asked for the lock again for this long loses its place in the queue. A waiting entry asks again
 * when the queue wakes it, and at the latest after about a second.
 */
const WAITING_ENTRY_TTL: Ms = 5_000;

/**
 * Locks on names. Each entry asks for the lock on a list of names. An entry that does not get this lock keeps a place
 * in the queue and occupies no worker. The queue wakes the entry when the entry can get the lock. Entries that need the
 * same name get the lock in the order of their first requests.
 */
export class LockQueue {
  private readonly clock: Clock;
  private readonly wake: (id: string) => void;
  private readonly locked = new Set<string>();
  /** The entries that were refused the lock, by their ID, in the order of their first request. */
  private readonly waiting = new Map<string, WaitingEntry>();

  /**
   * The function `wake` gets the ID of the entry that should call `tryRun` again. A lost wake-up only costs time,
   * because a waiting entry asks again after about a second.
   */
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
    // `set` keeps the position of a known ID in the Map. So an entry that asks again keeps its place in the queue.
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

  /**
   * Returns the IDs of the waiting entries that can get the lock now: none of their names is locked, and no earlier
   * entry waits for any of them.
   */
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
