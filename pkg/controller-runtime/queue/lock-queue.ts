/**
 * Locks on names. An entry that cannot lock all its names does not wait in `tryRun`, so it does not occupy a worker.
 * When a name becomes free, the queue wakes the entry that has waited longest for this name. The queue does not wake
 * the other entries, which must call `tryRun` again on their own.
 */
export class LockQueue {
  private readonly wake: (id: string) => void;
  private readonly locked = new Set<string>();
  /** The names that each waiting entry needs, by entry ID, in the order of the first requests. */
  private readonly waiting = new Map<string, readonly string[]>();

  /** `wake` gets the ID of an entry that should call `tryRun` again. */
  constructor(wake: (id: string) => void) {
    this.wake = wake;
  }

  /** Locks all of `names` while `work` runs. Returns `undefined`, without running it, if one of them is locked. */
  tryRun<A>(id: string, names: readonly string[], work: () => Promise<A>): Promise<A> | undefined {
    if (names.some((name) => this.locked.has(name))) {
      this.waiting.set(id, names);
      return undefined;
    }
    this.waiting.delete(id);
    return this.run(names, work);
  }

  private async run<A>(names: readonly string[], work: () => Promise<A>): Promise<A> {
    for (const name of names) this.locked.add(name);
    try {
      return await work();
    } finally {
      for (const name of names) {
        this.locked.delete(name);
        this.wakeFirst(name);
      }
    }
  }

  private wakeFirst(name: string): void {
    for (const [id, names] of this.waiting) {
      if (!names.includes(name)) continue;
      this.waiting.delete(id);
      return this.wake(id);
    }
  }
}
