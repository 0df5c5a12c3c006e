import { untilAborted } from './deadline.ts';

/** A lock per name. Of all calls with the same name, only one runs its work at a time, in the order of the calls. */
export class KeyedMutex {
  /** For each locked name, a promise that resolves when the latest call with the name has unlocked it. */
  private readonly tails = new Map<string, Promise<void>>();

  /** If `signal` aborts before the name is locked, rejects with the signal's reason without running `work`. */
  async run<A>(name: string, signal: AbortSignal, work: () => Promise<A>): Promise<A> {
    const ahead = this.tails.get(name) ?? Promise.resolve();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const tail = ahead.then(() => released);
    this.tails.set(name, tail);
    void tail.then(() => {
      if (this.tails.get(name) === tail) this.tails.delete(name);
    });
    try {
      await untilAborted(signal, () => ahead);
      return await work();
    } finally {
      release();
    }
  }
}
