import { untilAborted } from './deadline.ts';

type Work<A> = (signal: AbortSignal) => Promise<A>;

/**
 * Runs one call per key at a time and shares its result with all callers of that key, like Go's `singleflight`
 * (https://pkg.go.dev/golang.org/x/sync/singleflight). The call runs the work of the caller that began it; the work of
 * a caller that joins is ignored. Nothing is remembered after the end of a call, neither a value nor an error.
 *
 * - A caller whose signal aborts rejects immediately with the reason of that signal. The others still get the result.
 * - The signal of the work aborts when the signals of all callers have aborted. The next caller then begins a new call,
 *   even while the aborted work is still running.
 * - A caller without a signal waits for the end of the work, so the call is never aborted. Work that fills a cache is
 *   run without a signal; its callers use `untilAborted` to stop waiting.
 */
export class SingleFlight<A> {
  private readonly running = new Map<string, Call<A>>();
  /** For each key, the call that begins after the running one. */
  private readonly following = new Map<string, Call<A>>();

  /** Joins the running call of `key`, or begins one. A running call may return data that was read before this `run`. */
  async run(key: string, signal: AbortSignal | undefined, work: Work<A>): Promise<A> {
    signal?.throwIfAborted();
    return (this.running.get(key) ?? this.begin(key, this.newCall(key, work))).join(signal);
  }

  /**
   * Like {@link run}, but never joins a running call of `key`, so that the result is read after `runFresh` was called.
   * All callers that come while a call is running share the next call.
   */
  async runFresh(key: string, signal: AbortSignal | undefined, work: Work<A>): Promise<A> {
    if (!this.running.has(key)) return this.run(key, signal, work);
    signal?.throwIfAborted();
    const call = this.following.get(key) ?? this.newCall(key, work);
    this.following.set(key, call);
    return call.join(signal);
  }

  private newCall(key: string, work: Work<A>): Call<A> {
    const call: Call<A> = new Call(work, () => this.end(key, call));
    return call;
  }

  private begin(key: string, call: Call<A>): Call<A> {
    this.running.set(key, call);
    call.start();
    return call;
  }

  private end(key: string, call: Call<A>): void {
    if (this.following.get(key) === call) this.following.delete(key);
    if (this.running.get(key) !== call) return;
    this.running.delete(key);
    const next = this.following.get(key);
    this.following.delete(key);
    if (next !== undefined) this.begin(key, next);
  }
}

class Call<A> {
  private readonly work: Work<A>;
  private readonly onEnd: () => void;
  private readonly controller = new AbortController();
  private readonly result = Promise.withResolvers<A>();
  private callers = 0;

  /** `onEnd` runs before the callers get the result, so a caller that then calls `run` again begins a new call. */
  constructor(work: Work<A>, onEnd: () => void) {
    this.work = work;
    this.onEnd = onEnd;
  }

  start(): void {
    const { resolve, reject } = this.result;
    void untilAborted(this.controller.signal, this.work).finally(this.onEnd).then(resolve, reject);
  }

  async join(signal: AbortSignal | undefined): Promise<A> {
    const { promise } = this.result;
    this.callers += 1;
    if (signal === undefined) return promise;
    const leave = (): void => this.leave(signal);
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await untilAborted(signal, () => promise);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  private leave(signal: AbortSignal): void {
    this.callers -= 1;
    if (this.callers > 0) return;
    this.onEnd();
    this.controller.abort(signal.reason);
  }
}
