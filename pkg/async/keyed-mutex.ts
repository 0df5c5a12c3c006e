import { untilAborted } from './deadline.ts';

/**
 * A lock per name. Of all `run` calls that lock the same name, only one runs its work at a time. Calls that lock only
 * this name run in the order of the calls.
 *
 * A call that locks several names locks them in sorted order, so that two calls with common names cannot deadlock.
 */
export class KeyedMutex {
  /** For each locked name, a promise that resolves when the latest `run` call for the name has unlocked it. */
  private readonly tails = new Map<string, Promise<void>>();

  /**
   * Locks all of `names`, runs `work`, and unlocks the names. If `signal` aborts before the call has locked all names,
   * the promise rejects with the reason of `signal`, and `work` never runs.
   */
  async run<A>(names: readonly string[], signal: AbortSignal, work: () => Promise<A>): Promise<A> {
    const releases: (() => void)[] = [];
    try {
      for (const name of [...new Set(names)].toSorted()) releases.push(await this.lock(name, signal));
      return await work();
    } finally {
      for (const release of releases) release();
    }
  }

  private async lock(name: string, signal: AbortSignal): Promise<() => void> {
    const ahead = this.tails.get(name) ?? Promise.resolve();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const tail = ahead.then(() => released);
    this.tails.set(name, tail);
    void tail.then(() => {
      if (this.tails.get(name) === tail) this.tails.delete(name);
    });
    try {
      await untilAborted(signal, () => ahead);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }
}
