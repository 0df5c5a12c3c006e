import { untilAborted } from '../env/deadline.ts';

/**
 * Asks one question for all who want to know at the same time, and still gives nobody an answer that is older than his
 * asking: who comes while one is under way shares the next, which begins when that one has ended.
 */
export class SingleFlight<A> {
  private readonly ask: (signal: AbortSignal) => Promise<A>;
  private underWay: Promise<unknown> | undefined;
  private next: Promise<A> | undefined;

  /** `ask` is called with the signal of the first of those who share its answer. */
  constructor(ask: (signal: AbortSignal) => Promise<A>) {
    this.ask = ask;
  }

  /** Rejects with what `ask` rejects with, or with the signal's reason. */
  async get(signal: AbortSignal): Promise<A> {
    signal.throwIfAborted();
    const answer = this.underWay === undefined ? this.begin(signal) : (this.next ??= this.after(this.underWay, signal));
    return untilAborted(signal, () => answer);
  }

  private async after(flight: Promise<unknown>, signal: AbortSignal): Promise<A> {
    await flight;
    this.next = undefined;
    return this.begin(signal);
  }

  private begin(signal: AbortSignal): Promise<A> {
    const answer = (async () => this.ask(signal))();
    const flight: Promise<void> = answer.then(
      () => this.end(flight),
      () => this.end(flight),
    );
    this.underWay = flight;
    return answer;
  }

  private end(flight: Promise<unknown>): void {
    if (this.underWay === flight) this.underWay = undefined;
  }
}
