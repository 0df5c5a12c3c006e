/**
 * Lets one at a time do something under a name; who comes later waits in line.
 *
 * Several names are taken in one order, so that two who share more than one name cannot wait for each other.
 */
export class KeyedMutex {
  /** Per name the end of the line: resolves when the last in it has left. */
  private readonly tails = new Map<string, Promise<void>>();

  /** Whether {@link run} would begin at once. */
  isFree(names: readonly string[]): boolean {
    return names.every((name) => !this.tails.has(name));
  }

  /** Rejects with the signal's reason when it aborts before the turn has come; `work` is then not begun. */
  async run<A>(names: readonly string[], signal: AbortSignal, work: () => Promise<A>): Promise<A> {
    const releases: (() => void)[] = [];
    try {
      for (const name of [...new Set(names)].toSorted()) releases.push(await this.take(name, signal));
      return await work();
    } finally {
      for (const release of releases) release();
    }
  }

  private async take(name: string, signal: AbortSignal): Promise<() => void> {
    const ahead = this.tails.get(name) ?? Promise.resolve();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const tail = ahead.then(() => left);
    this.tails.set(name, tail);
    void tail.then(() => {
      if (this.tails.get(name) === tail) this.tails.delete(name);
    });
    try {
      await orAborted(ahead, signal);
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }
}

function orAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    void wait.then(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
  });
}
